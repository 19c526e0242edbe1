"""`berth serve`: runs the extender on this machine, with an embedded DynamoDB."""
