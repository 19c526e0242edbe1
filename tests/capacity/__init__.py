"""What the node cache costs in DynamoDB's units: a model, and what the code really sends to compare it with."""
