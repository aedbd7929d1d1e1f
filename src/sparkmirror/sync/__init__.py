"""What of topics is kept alike beside their records: their making, configurations, rights and their end.

In: the plans of `topology` and two clusters. Out: what is to be done to the target, and apart from it the doing.
It must never touch records, and writes nothing while it plans.
"""
