"""The cache's protocol with a log: list and watch over DynamoDB, one leader, readers that miss nothing.

Simulated (tests/simulation) and not wired yet: the functions still run the first form beside this folder, which lists
and publishes whole snapshots. When they are switched over, this folder takes its place.
"""
