"""The configuration in force of a stack, as the commands of an operator read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth_cli.deployed_stack import DeployedStack, StackUnavailable
from berth_cli.scheduler_config.inputs import configuration_in_force
from tests.builders.custom_plugins import FAILS_TO_START, NAMED, installed_plugins
from tests.builders.tables import create_cache_table

TABLE = "configuration-in-force"
STACK = DeployedStack("berth", None, {"Profile": "full"}, {"CacheTableName": TABLE})


@pytest.fixture
def store(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    create_cache_table(dynamodb, TABLE)
    yield DynamoDBConfigurationStore(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


def test_is_the_parameter_profile_until_a_document_is_applied(store: DynamoDBConfigurationStore) -> None:
    assert configuration_in_force(STACK).profile == "full"
    store.apply('{"profile": "resource-segregation"}')
    assert configuration_in_force(STACK).profile == "resource-segregation"


def test_names_plugin_that_cannot_be_built(store: DynamoDBConfigurationStore, tmp_path: Path) -> None:
    with installed_plugins(tmp_path):
        (tmp_path / "berth_plugins" / "mine.py").write_text(FAILS_TO_START)
        store.apply(NAMED)
        with pytest.raises(StackUnavailable, match=r"^plugin berth_plugins.mine:Passes failed in __init__: .*licence"):
            configuration_in_force(STACK)
