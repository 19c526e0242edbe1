"""Costs of the node cache in DynamoDB units: a model, and measured requests to compare it with."""
