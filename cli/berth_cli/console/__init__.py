"""`berth console`: serves a page on the loopback address that shows the cluster as Berth sees it."""
