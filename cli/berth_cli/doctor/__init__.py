"""`berth doctor`: what goes wrong in silence, looked for on purpose."""
