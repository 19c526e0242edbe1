"""A policy scanner, checkov, on the stack as CloudFormation gets it: after SAM's transform, for given parameters."""
