"""The files under docs/ that are generated from the code."""
