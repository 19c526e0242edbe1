"""The configuration commands of docs/how-to/local-stack.md, one after another as the page has them.

The verbs judge the pods of the cluster that the page names, so a document that they refuse fails here.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib import invalidate_caches
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations, hash_of, installed_version, parsed
from berth.runtime.http.configuration_trial import try_configuration
from berth_cli.configuration import trial
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.tables import create_cache_table
from tests.conftest import PROJECT
from tests.deployment.sam import STACK_NAME
from tests.fakes.node_cache import FixedNodeCache

PAGE = PROJECT / "docs" / "how-to" / "local-stack.md"
CLUSTER = "events/cluster.yaml"
"""That make local-stack has by default."""
TABLE = "local-stack-page"


def commands() -> list[str]:
    """What a reader copies, in the order of the page."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


class LocalStack:
    """What make local-stack has deployed, from one start to the next."""

    def __init__(self, client: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> None:
        self._client = client
        self._cluster = CLUSTER
        create_cache_table(client, TABLE)
        self._parameters = {"Profile": "label-priority"}
        outputs = {"CacheTableName": TABLE, "HttpTimeoutSeconds": "10"}
        self._stack = DeployedStack(STACK_NAME, None, self._parameters, outputs)
        monkeypatch.setattr(stacks, "describe", lambda name, region=None: self._stack)
        monkeypatch.setattr(trial, "deployed_functions", lambda stack: {"filter": self._invoke})

    def start(self, variables: Mapping[str, str]) -> None:
        """Another account, so nothing was applied yet. variables: of `make local-stack`."""
        self._client.delete_table(TableName=TABLE)
        create_cache_table(self._client, TABLE)
        self._cluster = variables.get("CLUSTER", CLUSTER)
        self._parameters |= dict(each.split("=", 1) for each in shlex.split(variables.get("PARAMETERS", "")))

    def _invoke(self, event: Mapping[str, object]) -> object:
        store = DynamoDBConfigurationStore(self._client, TABLE)
        applied, deployed = store.read(), parsed(self._stack.configuration_document, "the parameter Profile")
        configured = Configurations(store, lambda: deployed).at("" if applied is None else hash_of(applied))
        objects = yaml.safe_load(Path(self._cluster).read_text())["items"]
        cache = FixedNodeCache.of(configured.document, *objects)
        return {"body": json.dumps(try_configuration(event["document"], cache.for_trial))}


@pytest.fixture
def local_stack(dynamodb: DynamoDBClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalStack]:
    for name in ("examples", "events"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / ".build").mkdir()  # the build of make local-stack is there
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    forget_plugins()
    yield LocalStack(dynamodb, monkeypatch)
    dynamodb.delete_table(TableName=TABLE)
    forget_plugins()


def forget_plugins() -> None:
    """As if this process had just begun."""
    installed_version.cache_clear()
    invalidate_caches()
    for name in [each for each in sys.modules if each.startswith("berth_plugins")]:
        del sys.modules[name]


def test_every_command_about_configurations_and_plugins_ends_as_the_page_says(local_stack: LocalStack) -> None:
    done = set()
    for line in commands():
        words = shlex.split(line.replace("$BERTH_STACK", STACK_NAME), comments=True)
        match words:
            case ["make", "local-stack", *variables] if "REPLACE=1" not in variables:
                local_stack.start(dict(each.split("=", 1) for each in variables))
            case ["cp", *_] | ["echo", *_]:
                subprocess.run(line, shell=True, check=True)  # a line of the page
            case ["berth", "config" | "plugin" as group, *arguments]:
                forget_plugins()  # each command is a process
                result = CliRunner().invoke(main, [group, *arguments])
                assert result.exit_code == (1 if line.endswith("# fails") else 0), f"{line}\n{result.output}"
                done.add((arguments[0], result.exit_code))
    assert done == {("apply", 0), ("apply", 1), ("check", 0), ("check", 1), ("history", 0), ("rollback", 0)}


def test_shell_reads_every_command_of_the_page() -> None:
    done = subprocess.run(["bash", "-n"], input="\n".join(commands()), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_of_the_clone_that_the_page_names_exists() -> None:
    words = (word.partition("=")[2] or word.lstrip("@") for line in commands() for word in shlex.split(line))
    named = {word for word in words if word.startswith(("events/", "examples/"))}
    assert "events/filter/cache-mode.body.json" in named
    assert [each for each in sorted(named) if not (PROJECT / each).exists()] == []
