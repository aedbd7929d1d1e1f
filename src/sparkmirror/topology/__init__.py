"""In: a flow and what its two clusters hold. Out: what to create, what to mirror, which task copies what.

It only decides: it must never talk to a cluster, read a clock or carry a decision out.
"""
