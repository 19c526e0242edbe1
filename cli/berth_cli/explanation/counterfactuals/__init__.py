"""Changes that would place a pod: candidates for each rejection reason, and the search for the smallest changes that
work."""
