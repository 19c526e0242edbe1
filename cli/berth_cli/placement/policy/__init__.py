"""`berth policy`: cases that a policy must pass, and what a new policy changes."""
