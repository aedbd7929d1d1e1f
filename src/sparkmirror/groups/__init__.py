"""Consumer groups: what they committed at the source becomes checkpoints and commits on the target.

In: groups and the offset map. Out: checkpoints in MirrorMaker 2's bytes, commits for idle groups, a report of each.
Never: a commit past the target's end, or over a group that has members there.
"""
