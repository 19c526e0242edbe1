"""`python -m tests.recorded RELEASE`: record the cache table and the ledger that the current code writes."""

from __future__ import annotations

import sys

from tests.fakes.moto_dynamodb import MotoDynamoDB

if __name__ == "__main__":
    MotoDynamoDB().install()
    import boto3

    from tests.builders.recordings import items_of, record, table_of
    from tests.contract.ledger import test_ledger_schema as ledger
    from tests.contract.nodecache import test_schema_of_the_cache as cache

    [release] = sys.argv[1:]
    client = boto3.client("dynamodb")
    with table_of(client, (), "N") as name:
        cache.write_today(cache.Cache(client, name))
        record(release, "cache", items_of(client, name))
    with table_of(client, (), "S") as name:
        ledger.write_today(client, name)
        record(release, "ledger", items_of(client, name))
