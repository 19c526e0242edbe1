"""The tables of node cache, lease and ledger in memory, held to the same contract tests as DynamoDB."""
