"""`berth plugin`: check and package plugins of the user's own."""
