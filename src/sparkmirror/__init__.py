"""sparkmirror mirrors Apache Kafka clusters: MirrorMaker 2's job on Spark, batch by batch.

The tree reads in the order the data moves: config and topology decide what is mirrored, protocol,
net and batch speak Kafka's wire language, copy moves batches from source to target, pipeline runs
that as a Structured Streaming query, control keeps it going, cli is how a person starts it.
"""

__version__ = "0.1.0"
