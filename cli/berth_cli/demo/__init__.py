"""`berth demo`: runs four policies on small clusters, through the HTTP server of `berth serve`."""
