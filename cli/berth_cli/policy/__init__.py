"""`berth policy`: test a policy on cases, and show what a new one changes, before it is live."""
