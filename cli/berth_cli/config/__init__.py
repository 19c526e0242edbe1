"""`berth config`: check, apply and describe BerthConfiguration documents."""
