"""The list of nodes over DynamoDB: an immutable snapshot behind one head item."""
