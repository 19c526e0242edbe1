"""What an explanation reads: a dump, a live cluster, a stack, and the records of decisions."""
