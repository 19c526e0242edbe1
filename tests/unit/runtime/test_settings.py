"""The settings of a function from its environment; an error names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.configuration.store import ConfigurationInvalid
from berth.runtime.cluster_settings import BindSettings, ClusterSettings, WatcherSettings
from berth.runtime.environment import SettingsInvalid
from berth.runtime.settings import PolicySettings, deployed

TABLE = {"BERTH_CACHE_TABLE": "berth-cache"}
DUMP = {"BERTH_CLUSTER_DUMP": "/tmp/dump.yaml"}
ONE_CLUSTER = (
    "set exactly one of BERTH_KUBECONFIG_SECRET, BERTH_EKS_CLUSTER, BERTH_KUBECONFIG, BERTH_IN_CLUSTER and "
    "BERTH_CLUSTER_DUMP"
)


def test_ignores_other_variables() -> None:
    assert PolicySettings.from_environ(TABLE | {"PATH": "/bin", "AWS_REGION": "x"}).cache_table == "berth-cache"


def test_uses_defaults_without_document() -> None:
    assert deployed(PolicySettings.from_environ(TABLE).configuration).profile == "label-priority"


def test_treats_empty_variable_as_absent() -> None:
    """A template's parameter that was left empty arrives as an empty variable."""
    assert (
        deployed(PolicySettings.from_environ(TABLE | {"BERTH_CONFIGURATION": ""}).configuration).profile
        == "label-priority"
    )
    with pytest.raises(SettingsInvalid, match="BERTH_CACHE_TABLE"):
        PolicySettings.from_environ({"BERTH_CACHE_TABLE": ""})


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ({"BERTH_KUBECONFIG_SECRET": "arn:x"}, "kubeconfig_secret", "arn:x"),
        ({"BERTH_KUBECONFIG": "/k"}, "kubeconfig", Path("/k")),
        ({"BERTH_CLUSTER_DUMP": "/d"}, "dump", Path("/d")),
        ({"BERTH_IN_CLUSTER": "true"}, "in_cluster", True),
        ({"BERTH_EKS_CLUSTER": "prod"}, "eks_cluster", "prod"),
        ({"BERTH_EKS_CLUSTER": "prod", "AWS_REGION": "eu-central-1"}, "eks_region", "eu-central-1"),
        (
            {"BERTH_EKS_CLUSTER": "prod", "AWS_REGION": "eu-central-1", "BERTH_EKS_REGION": "eu-west-1"},
            "eks_region",
            "eu-west-1",
        ),
    ],
)
def test_requires_exactly_one_cluster(variables: dict[str, str], field: str, value: object) -> None:
    assert getattr(ClusterSettings.from_environ(variables), field) == value


@pytest.mark.parametrize(("given", "seconds"), [({}, 5.0), ({"BERTH_HTTP_TIMEOUT": "30"}, 30.0)])
def test_http_timeout_is_5_seconds_by_default(given: dict[str, str], seconds: float) -> None:
    assert BindSettings.from_environ(DUMP | given).http_timeout == seconds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [({}, 2.0), ({"BERTH_HTTP_TIMEOUT": "3"}, pytest.approx(1.2)), ({"BERTH_HTTP_TIMEOUT": "30"}, 4.0)],
)
def test_bind_has_the_same_time_limit_as_other_verbs(given: dict[str, str], seconds: float) -> None:
    settings = BindSettings.from_environ(DUMP | TABLE | given)
    assert settings.decision_seconds == seconds
    assert settings.decision_seconds == PolicySettings.from_environ(TABLE | given).decision_seconds


@pytest.mark.parametrize(
    ("settings", "environ", "message"),
    [
        pytest.param(PolicySettings, {}, "BERTH_CACHE_TABLE: Field required", id="no table"),
        pytest.param(ClusterSettings, {}, ONE_CLUSTER, id="no cluster"),
        pytest.param(ClusterSettings, DUMP | {"BERTH_KUBECONFIG": "/k"}, ONE_CLUSTER, id="two clusters"),
        pytest.param(
            BindSettings,
            DUMP | {"BERTH_HTTP_TIMEOUT": "1"},
            "BERTH_HTTP_TIMEOUT: Input should be greater than 1",
            id="no time left for bind",
        ),
        pytest.param(BindSettings, DUMP | {"BERTH_HTTP_TIMEOUT": "5s"}, "BERTH_HTTP_TIMEOUT: ", id="seconds with unit"),
        pytest.param(
            PolicySettings,
            {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1 GB", "BERTH_HTTP_TIMEOUT": "nan"},
            "BERTH_HTTP_TIMEOUT: Input should be greater than 1; BERTH_CACHE_TABLE: Field required; "
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE: invalid literal for int() with base 10: '1 GB'",
            id="several errors",
        ),
        pytest.param(
            BindSettings,
            DUMP | {"BERTH_LEDGER_TABLE": "ledger"},
            "BERTH_LEDGER_TABLE needs BERTH_CACHE_TABLE",
            id="a ledger without a cache for bind",
        ),
        pytest.param(
            WatcherSettings,
            TABLE | DUMP | {"BERTH_WATCHER_MODE": "always"},
            "BERTH_WATCHER_MODE: Input should be 'continuous' or 'periodic'",
            id="invalid watcher mode",
        ),
    ],
)
def test_error_names_the_variable_in_one_line(
    settings: type[PolicySettings | ClusterSettings], environ: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        settings.from_environ(environ)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param("{", "document: Invalid JSON", id="not JSON"),
        pytest.param(
            '{"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "a b"}}]}',
            "pluginConfig.0.args.label",
            id="a wrong argument",
        ),
    ],
)
def test_starts_with_invalid_document_and_reports_it_on_use(document: str, field: str) -> None:
    """A verb whose environment does not start could not tell the scheduler why."""
    settings = PolicySettings.from_environ(TABLE | {"BERTH_CONFIGURATION": document})
    with pytest.raises(ConfigurationInvalid) as caught:
        deployed(settings.configuration)
    assert str(caught.value).startswith(f"BERTH_CONFIGURATION: {field}")


def test_lists_functions_to_warm_up() -> None:
    settings = WatcherSettings.from_environ(TABLE | DUMP | {"BERTH_WARM_UP_FUNCTIONS": "filter:live, preempt:live"})
    assert settings.warm_up_functions == ("filter:live", "preempt:live")


def test_verdict_cache_may_use_an_eighth_of_the_functions_memory() -> None:
    assert (
        PolicySettings.from_environ(TABLE | {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024"}).remembered_bytes == 128 << 20
    )


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 2.0), ({"BERTH_HTTP_TIMEOUT": "2"}, 0.8), ({"BERTH_HTTP_TIMEOUT": "30"}, 4.0)]
)
def test_decision_may_take_two_fifths_of_the_timeouts(given: dict[str, str], seconds: float) -> None:
    assert PolicySettings.from_environ(TABLE | given).decision_seconds == pytest.approx(seconds)


def test_verdict_cache_uses_the_default_size_outside_lambda() -> None:
    assert PolicySettings.from_environ(TABLE).remembered_bytes == 256 << 20
