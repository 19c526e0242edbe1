"""`berth policy diff`: the same pods placed by two policies."""
