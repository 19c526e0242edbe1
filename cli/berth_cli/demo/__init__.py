"""`berth demo`: runs four policies on small clusters, three of them through the HTTP server of `berth serve`."""
