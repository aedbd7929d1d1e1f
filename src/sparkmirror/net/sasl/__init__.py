"""Says to a broker who we are (SASL), when a connection opens and when its session nears its end (KIP-368).

In: a client's security settings and the broker's messages. Out: the next request, or that it is done. Never: a secret
in a message, an error or a `repr`, nor a wait inside the copy's loop.
"""
