"""The ledger: one item per node, changed by conditional writes; its port and its DynamoDB adapter."""
