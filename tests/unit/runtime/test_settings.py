"""The settings of a function from its environment; an error names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.runtime.cluster_settings import BindSettings, ClusterSettings, WatcherSettings
from berth.runtime.environment import SettingsInvalid
from berth.runtime.settings import PolicySettings, deployed

TABLE = {"BERTH_CACHE_TABLE": "berth-cache"}
DUMP = {"BERTH_CLUSTER_DUMP": "/tmp/dump.yaml"}
ONE_CLUSTER = (
    "set exactly one of BERTH_KUBECONFIG_SECRET, BERTH_EKS_CLUSTER, BERTH_KUBECONFIG, BERTH_IN_CLUSTER and "
    "BERTH_CLUSTER_DUMP"
)


def test_treats_an_empty_variable_as_absent() -> None:
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
def test_reads_the_cluster_from_each_kind_of_variable(variables: dict[str, str], field: str, value: object) -> None:
    assert getattr(ClusterSettings.from_environ(variables), field) == value


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


def test_parses_the_functions_to_warm_up_from_a_comma_separated_list() -> None:
    settings = WatcherSettings.from_environ(TABLE | DUMP | {"BERTH_WARM_UP_FUNCTIONS": "filter:live, preempt:live"})
    assert settings.warm_up_functions == ("filter:live", "preempt:live")


@pytest.mark.parametrize(
    ("given", "size"),
    [({}, 256 << 20), ({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024"}, 128 << 20)],
    ids=["outside Lambda", "an eighth of the memory"],
)
def test_verdict_cache_uses_a_part_of_the_functions_memory(given: dict[str, str], size: int) -> None:
    assert PolicySettings.from_environ(TABLE | given).remembered_bytes == size


@pytest.mark.parametrize("settings", [PolicySettings, BindSettings])
@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 2.0), ({"BERTH_HTTP_TIMEOUT": "2"}, 0.8), ({"BERTH_HTTP_TIMEOUT": "30"}, 4.0)]
)
def test_decision_may_take_two_fifths_of_the_timeout_and_at_most_four_seconds(
    settings: type[PolicySettings], given: dict[str, str], seconds: float
) -> None:
    assert settings.from_environ(DUMP | TABLE | given).decision_seconds == pytest.approx(seconds)
