"""Changes that would place a pod: proposals for each reason, and the search for the smallest ones that work."""
