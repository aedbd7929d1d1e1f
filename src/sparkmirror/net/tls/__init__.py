"""TLS. In: a client's `ssl.*` settings and a connected socket; out: a socket that reads and writes as any other.

It must never write a private key to disk, nor show a password.
"""
