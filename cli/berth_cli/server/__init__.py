"""`berth serve`: the extender on this machine, with an embedded DynamoDB."""
