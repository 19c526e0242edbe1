"""The cluster at one moment, immutable, and the changes since the previous snapshot."""
