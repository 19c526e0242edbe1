"""What the DynamoDB adapter does beyond the port's contract, against scripted answers."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.stub import Stubber

from berth.ledger.nodes.dynamodb_item import node_item
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.ledger import new_ledger


def test_lists_nodes_by_name_over_all_pages_when_the_scan_has_another_order() -> None:
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1")
    client = session.client("dynamodb")
    pages: list[list[str]] = [["n3", "n1"], ["n2"]]
    with Stubber(client) as stub:
        for number, page in enumerate(pages):
            items = [node_item(new_ledger(name, {"example.com/licence": 1}, {}, epoch=1)) for name in page]
            last: dict[str, Any] = {"LastEvaluatedKey": {"pk": {"S": "k"}}} if number + 1 < len(pages) else {}
            stub.add_response("scan", {"Items": items, **last})
        found = DynamoDBLedgerTable(client, "ledger").nodes()
    assert [ledger.node for ledger in found] == ["n1", "n2", "n3"]
