"""The feed: list and watch over DynamoDB. One leader writes a log and snapshots; readers do not miss changes.

spec/NodeCache.tla specifies the protocol. tests/simulation checks that a violation of any rule is found.
"""
