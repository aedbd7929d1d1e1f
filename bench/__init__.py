"""The benchmark behind `make bench`: MirrorMaker 2, MirrorMaker 2 tuned and sparkmirror in one run, on one machine.

In: which scenarios, which mirrors, how big. Out: a table on the terminal and a dated file in `bench/results`.
Never: a figure of one mirror without the others' from the same run and the settings that made it.
"""
