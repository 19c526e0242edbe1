"""Verdicts and scores of a profile, remembered between calls for pods of one shape."""
