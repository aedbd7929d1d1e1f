"""In: the text of a MirrorMaker 2 properties file. Out: typed flows, and a list of what is not in force yet.

It must never open a connection, read a clock, or let a wrong key or value pass in silence.
"""
