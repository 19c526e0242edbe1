"""`berth reservations`: list, release and rebuild reservations of counted resources."""
