"""`berth record`."""
