"""The settings of berth watch are those that the template gives to the watcher function."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.runtime.cluster_settings import WatcherMode
from berth.runtime.settings import deployed
from berth_cli.server.watcher_process import watcher_settings
from berth_cli.sources.stack import DeployedStack, StackUnavailable
from tests.deployment.template import Deployment, read_template

OUTPUTS = {
    "CacheTableName": "berth-CacheTable-1",
    "LedgerTableName": "berth-LedgerTable-1",
    "HttpTimeoutSeconds": "10",
    "WarmUpFunctions": "arn:filter:live,arn:bind:live",
}
STACK = DeployedStack("berth", None, {"Profile": "full", "WatcherMode": "external"}, OUTPUTS)


def test_settings_come_from_the_stack() -> None:
    found = watcher_settings(STACK, None)
    assert (found.cache_table, found.ledger_table) == ("berth-CacheTable-1", "berth-LedgerTable-1")
    assert (found.http_timeout, deployed(found.configuration).profile) == (10.0, "full")
    assert found.warm_up_functions == ("arn:filter:live", "arn:bind:live")
    assert found.mode is WatcherMode.CONTINUOUS
    assert found.standby, "no schedule starts a successor"


def test_cluster_comes_from_the_pod_or_the_kubeconfig() -> None:
    in_pod, outside = watcher_settings(STACK, None), watcher_settings(STACK, Path("kubeconfig"))
    assert (in_pod.in_cluster, in_pod.kubeconfig) == (True, None)
    assert (outside.in_cluster, outside.kubeconfig) == (False, Path("kubeconfig"))


def test_template_has_every_output_that_the_settings_read() -> None:
    stack = Deployment(read_template(), Authentication="basic", WatcherMode="external")
    assert set(OUTPUTS) <= set(stack.outputs())


def test_rejects_and_names_a_stack_of_another_application() -> None:
    with pytest.raises(StackUnavailable, match="is it a Berth stack"):
        watcher_settings(DeployedStack("other", None, {}, {}), None)
