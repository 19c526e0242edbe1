"""The in-process store of `berth serve`: node cache, lease, ledger and configuration, behind the stack's ports.

It passes the same contract tests as DynamoDB, and the simulation tests use it. Its content is lost when the process
ends.
"""
