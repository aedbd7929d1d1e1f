"""Compares both sides of a flow. In: fetches of a source and of a target partition. Out: differences and their places.

It never writes to either side.
"""
