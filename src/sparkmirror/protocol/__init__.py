"""Kafka's wire language without sockets: what the hot path reads and writes itself.

In: field values or response frames. Out: request bytes or parsed views onto the frame, never copies.
It must never touch a socket, a clock or the inside of a record batch. Bad bytes raise `ProtocolError`.
The control plane's messages come from kafka-python's schemas (`kafka.protocol`), see `net`.
"""
