"""`berth policy test`: cases of a policy, with what is expected of each pod."""
