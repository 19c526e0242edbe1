"""The store of `berth serve` in its process: node cache, lease, ledger and configuration, behind the stack's ports.

The same contract tests hold it and DynamoDB, and the simulation runs on it. It ends with the process.
"""
