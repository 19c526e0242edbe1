"""`berth gangs`: list and describe gangs."""
