"""`berth explain`: shows why a pod is on its node, why it is pending, and which changes would place it."""
