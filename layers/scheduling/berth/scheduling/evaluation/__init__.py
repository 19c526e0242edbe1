"""Verdicts and scores of a profile, cached between calls for pods of one shape."""
