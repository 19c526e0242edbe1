"""`berth explain`: why a pod is where it is, why it is pending, and what would place it."""
