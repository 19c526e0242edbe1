"""Runs the policy scanner checkov on the processed template with given parameters."""
