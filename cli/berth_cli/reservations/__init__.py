"""`berth reservations`: list and rebuild reservations of counted resources."""
