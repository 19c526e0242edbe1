"""The verdicts and scores of a profile. They are cached between calls for pods of one shape."""
