"""Benchmarks: ratios to a floor measured in the same run. Nothing here is an assert."""
