"""The lane: plain traffic of one source broker, carried over by compiled code, a fetch answer at a time.

In: answers to fetches and appends. Out: the requests that follow from them, and where each partition stands.
Never: a decision about anything unusual. What is not plain leaves the lane untouched, for the roster to decide.
"""
