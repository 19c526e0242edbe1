"""Imports of a cold start: the scheduler waits for every package that a function imports."""

from __future__ import annotations

import sys

import pytest

from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from tests.builders.function_process import KEYS, run
from tests.conftest import PROJECT

pytestmark = pytest.mark.long

BOTOCORE = {"botocore", "certifi", "dateutil", "jmespath", "six", "urllib3"}
PYDANTIC = {"annotated_types", "pydantic", "pydantic_core", "typing_inspection"}
KUBERNETES = {
    *("kubernetes", "durationpy", "oauthlib", "requests", "requests_oauthlib", "websocket", "yaml"),
    *("charset_normalizer", "cython_runtime", "idna"),  # of requests and yaml
}
SMALL_FUNCTION = {"berth", "aws_lambda_powertools", "orjson", "typing_extensions", *BOTOCORE}
EVERY_FUNCTION = {*SMALL_FUNCTION, *PYDANTIC}

NOT_OF_A_VERB = (
    "berth.authentication.allow_list",
    "berth.authentication.authorizer",
    "berth.bind",
    "berth.cluster",
    "berth.lease.lock",
    "berth.ledger.lease",
    "berth.runtime.cluster_settings",
    "berth.runtime.http.bind_endpoint",
    "berth.runtime.watcher",
    "berth.upkeep",
)

OF_THE_AUTHORIZER = {"berth.garbage_collection", *("berth.lease", "berth.lease.clock")}
"""Modules of other packages: the pause of garbage collection, and the clock of the authorizer's deadline."""

PROGRAM = """
import importlib.util, sys
before = set(sys.modules)
for handler in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("app", handler)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(*sys.modules.keys() - before, sep="\\n")
"""


NOT_OF_BIND = (
    "berth.cluster.dump_cluster",
    "berth.cluster.field_projection",
    "berth.cluster.watch",
    "berth.runtime.watcher",
    "berth.upkeep",
)
EKS = {"BERTH_EKS_CLUSTER": "prod", "BERTH_KUBECONFIG_SECRET": ""}


def imported(*functions: str, **variables: str) -> set[str]:
    """Return the names of all modules that these functions import."""
    handlers = [str(PROJECT / "functions" / function / "app.py") for function in functions]
    return set(run("-c", PROGRAM, *handlers, **(KEYS | variables)))


def packages(modules: set[str]) -> set[str]:
    """Return the imported packages outside the standard library."""
    names = {module.partition(".")[0] for module in modules}
    return {name for name in names if not name.startswith("_")} - set(sys.stdlib_module_names)


WITH_CLUSTER = {"bind", "watcher"}
OTHERS = {handler.parent.name for handler in PROJECT.glob("functions/*/app.py")} - WITH_CLUSTER


@pytest.mark.parametrize(
    ("functions", "allowed"),
    [
        pytest.param(OTHERS, EVERY_FUNCTION, id="without a cluster"),
        pytest.param(WITH_CLUSTER, EVERY_FUNCTION | KUBERNETES, id="with a cluster"),
    ],
)
def test_functions_import_only_the_listed_packages(functions: set[str], allowed: set[str]) -> None:
    """boto3 was once imported, with s3transfer."""
    assert packages(imported(*sorted(functions))) - allowed == set()


def test_bind_on_eks_imports_neither_the_kubernetes_client_nor_watcher_code() -> None:
    """The client takes a third of the function's start time, and only a kubeconfig needs it."""
    modules = imported("bind", **EKS)
    assert packages(modules) - EVERY_FUNCTION == set()
    assert [module for module in sorted(modules) if module.startswith(NOT_OF_BIND)] == []
    assert modules & PLUGINS == set()


PLUGINS = {type(found.plugin(found.args())).__module__ for found in map(shipped_plugin, SHIPPED_PLUGINS)}


@pytest.mark.parametrize("function", ["filter", "filter_onlyone", "prioritize", "preempt"])
def test_verbs_import_neither_plugins_nor_parts_of_bind(function: str) -> None:
    """The configuration in force determines the plugins; only mutual TLS needs certificates."""
    modules = imported(function)
    assert modules & PLUGINS == set()
    assert [module for module in sorted(modules) if module.startswith(NOT_OF_A_VERB)] == []


@pytest.mark.parametrize("function", ["authorizer", "pre_traffic"])
def test_functions_without_configuration_do_not_import_pydantic(function: str) -> None:
    """Importing it takes half as long as importing an AWS client."""
    assert packages(imported(function)) - SMALL_FUNCTION == set()


def test_authorizer_does_not_import_scheduling() -> None:
    """The authorizer runs before each verb. It needs `extender` for the outcomes of reading a request."""
    modules = {module for module in imported("authorizer") if module.startswith("berth.")} - OF_THE_AUTHORIZER
    assert {module.split(".")[1] for module in modules} <= {"authentication", "extender", "runtime"}
