"""`berth demo`: four policies on small clusters, through the HTTP server of `berth serve`."""
