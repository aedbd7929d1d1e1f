"""The only room with sockets: connections to brokers, version negotiation, cluster metadata.

In: addresses and requests. Out: response frames, parsed control messages, who leads which partition.
It must never decide what is mirrored, and nothing here waits without a deadline.
"""
