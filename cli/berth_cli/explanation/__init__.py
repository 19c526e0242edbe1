"""`berth explain`: why a pod is where it is, why it is pending, and which changes would place it."""
