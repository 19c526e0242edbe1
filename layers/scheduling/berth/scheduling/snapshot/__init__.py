"""The cluster at one moment, immutable, with the changes since the previous snapshot."""
