"""`berth gangs`: list, describe and release gangs."""
