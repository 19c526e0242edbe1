"""Changes that would place a pod: what might answer a reason, and the search for the smallest that the rules pass."""
