"""The cluster at one moment, immutable, with what changed since the one before."""
