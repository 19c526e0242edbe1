"""The sources of an explanation: a dump, a live cluster, a stack, and the records of decisions."""
