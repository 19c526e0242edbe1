"""The feed: list and watch over DynamoDB. One leader writes a log and snapshots; readers miss no change.

Every rule of the protocol is also in spec/NodeCache.tla, and tests/simulation breaks the rules one by one.
"""
