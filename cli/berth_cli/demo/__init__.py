"""`berth demo`: three policies on small clusters, through the HTTP server that `berth serve` runs."""
