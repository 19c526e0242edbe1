"""Hooks and fixtures for every kind of test. A fixture does not affect a test that does not request it."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from berth_cli.server.local_stack import LocalStack
    from tests.fakes.log_lines import LogLines

PROJECT = Path(__file__).resolve().parents[1]
CLUSTER = PROJECT / "events" / "cluster.yaml"

CLOCKS = time.monotonic, time.time

# Data that the session's stack has published must not become stale during the session.
LASTING = '{"nodeCache": {"maxStaleness": 86400}}'

# Shared machines may pause at any moment: time limits for single examples would make tests flaky.
settings.register_profile(
    "berth", deadline=None, max_examples=100, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("berth")

# Maps a marker to the folders in which a make target runs the marked tests.
FOLDERS = {
    "external": ("contract", "integration"),
    "long": ("integration", "property", "simulation", "unit"),
    "build": ("integration",),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise an error for a marked test that no target runs."""
    for item in items:
        for mark in item.iter_markers():
            folders = [PROJECT / "tests" / folder for folder in FOLDERS.get(mark.name, ())]
            if folders and not any(map(item.path.is_relative_to, folders)):
                raise pytest.UsageError(
                    f"{item.nodeid}: tests marked {mark.name} belong in {', '.join(FOLDERS[mark.name])}"
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Require that tests replace clocks only where they are used: a clock replaced for all threads would make the
    session's server end its connections."""
    yield
    assert (time.monotonic, time.time) == CLOCKS, "the test has replaced a clock of the module time"


def pytest_collection() -> None:
    """Disable garbage collection: the collection of tests frees few objects, and takes a third less time without it."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let all tests share botocore's descriptions of services: megabytes of JSON for each session.

    The objects created so far last until the end, so they are excluded from garbage collection.
    """
    sessions = sys.modules.get("botocore.session")
    if sessions is not None:
        sessions.create_loader = cache(sessions.create_loader)  # type: ignore[attr-defined]
    gc.enable()
    gc.collect()
    gc.freeze()
    # By default a collection follows every 700 objects: with this threshold, tests need 7 % less processor time.
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="module")
def cluster_dump(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Copy events/cluster.yaml for the module: Bindings are stored by path, so other modules do not bind its pods."""
    dump = tmp_path_factory.mktemp("cluster") / "cluster.yaml"
    dump.write_bytes(CLUSTER.read_bytes())
    return str(dump)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> LocalStack:
    """Run the template's functions in this process: DynamoDB on moto, with events/cluster.yaml published."""
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.server import local_stack
    from tests.fakes.moto_dynamodb import MotoDynamoDB

    dump = tmp_path_factory.mktemp("cluster") / "cluster.yaml"
    dump.write_bytes(CLUSTER.read_bytes())
    before = os.environ.copy()
    try:
        stack = local_stack.start(
            BerthConfiguration.model_validate_json(LASTING),
            local_stack.dump_environment(dump),
            log_level="INFO",
            store=MotoDynamoDB().install(),
        )
        assert stack.run_watcher_once()["outcome"] == "handed-over"
    finally:
        os.environ.clear()
        os.environ.update(before)
    return stack


@pytest.fixture(scope="session")
def dynamodb(stack: LocalStack) -> DynamoDBClient:
    import boto3

    client: DynamoDBClient = boto3.client("dynamodb")
    return client


@pytest.fixture(scope="session")
def endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of ministack: an emulator that serves several clients at once, unlike moto."""
    from tests.deployment.emulator import COMMAND, Emulator

    if not COMMAND.exists():
        pytest.skip("ministack is not installed: make tools")
    with Emulator(tmp_path_factory.mktemp("ministack")) as emulator:
        yield emulator.endpoint_url


@pytest.fixture(scope="session")
def dynamodb_local_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of DynamoDB Local, AWS' own emulator of DynamoDB."""
    from tests.deployment.dynamodb_local import DynamoDBLocal, missing

    if reason := missing():
        pytest.skip(reason)
    with DynamoDBLocal(tmp_path_factory.mktemp("dynamodb-local")) as local:
        yield local.endpoint_url


@pytest.fixture(scope="session")
def load_function(stack: LocalStack) -> Callable[[str, Mapping[str, str]], Callable[..., Any]]:
    """Return a function that loads a handler as a new environment would, with given variables and the stack's table."""
    from berth_cli.server.functions import load_handler, set_environment
    from berth_cli.server.options import CACHE_TABLE

    def load(name: str, variables: Mapping[str, str]) -> Callable[..., Any]:
        before = os.environ.copy()
        try:
            set_environment({"BERTH_CACHE_TABLE": CACHE_TABLE, "BERTH_CONFIGURATION": LASTING, **variables})
            return load_handler(name)
        finally:
            os.environ.clear()
            os.environ.update(before)

    return load


@pytest.fixture
def log_lines() -> Iterator[LogLines]:
    """Yield the lines logged during the test at level INFO and above."""
    import logging

    from aws_lambda_powertools import Logger

    from tests.fakes.log_lines import LogLines

    Logger(service="berth")
    logger = logging.getLogger("berth")
    lines, before = LogLines(), logger.level
    streams = [
        (handler, handler.setStream(lines.stream))
        for handler in logger.handlers
        if isinstance(handler, logging.StreamHandler)
    ]
    logger.setLevel(logging.INFO)
    yield lines
    logger.setLevel(before)
    for handler, stream in streams:
        handler.setStream(stream)


@pytest.fixture(scope="session")
def gateway_port(stack: LocalStack) -> Iterator[int]:
    from berth_cli.server.http import server

    listener = server.listen("127.0.0.1", 0)
    with server.serve_in_thread(stack.gateway, listener):
        yield listener.getsockname()[1]


@pytest.fixture(scope="session")
def open_gateway_port(stack: LocalStack) -> Iterator[int]:
    """Run a gateway that accepts every header, as API Gateway does."""
    from berth_cli.server.gateway import Gateway
    from berth_cli.server.http import server
    from tests.fakes.request_check import AnyRequest

    listener = server.listen("127.0.0.1", 0)
    with server.serve_in_thread(Gateway(stack.gateway.handlers, check=AnyRequest()), listener):
        yield listener.getsockname()[1]
