"""bind's function without a configuration document or a ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from berth.bind.protocol import REASON_SCHEDULER
from berth.runtime.http.events import WARM_UP_EVENT
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.requests import binding, body_of
from tests.fakes.api_server import verified_kubernetes
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import call

Load = Callable[..., Callable[..., Any]]


def test_warm_up_connects_without_binding(load_function: Load, tmp_path: Path) -> None:
    with verified_kubernetes() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        kubeconfig = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        handler = load_function("bind", {"BERTH_KUBECONFIG": str(kubeconfig)})
        assert handler(WARM_UP_EVENT, None)["statusCode"] == 200
        assert kubernetes.requests == []
        kubeconfig.unlink()
        assert call(handler, body_of(binding()), "bind").error == ""


def test_failed_warm_up_is_not_reported(load_function: Load, tmp_path: Path, log_lines: LogLines) -> None:
    handler = load_function("bind", {"BERTH_KUBECONFIG": str(tmp_path / "absent")})
    assert handler(WARM_UP_EVENT, None)["body"] == '{"version":0}'
    assert log_lines.all() == []


@pytest.mark.parametrize(
    ("named", "scheduler", "error"),
    [
        pytest.param(None, "berth-scheduler", "", id="the default"),
        pytest.param(None, "default-scheduler", REASON_SCHEDULER, id="another scheduler than the default"),
        pytest.param(None, None, REASON_SCHEDULER, id="no schedulerName"),
        pytest.param("", "default-scheduler", REASON_SCHEDULER, id="an empty variable is the default"),
        pytest.param("gpu, batch", "batch", "", id="one of two"),
        pytest.param("gpu, batch", "berth-scheduler", REASON_SCHEDULER, id="names replace the default"),
        pytest.param("default-scheduler", None, "", id="without schedulerName it is default-scheduler"),
        pytest.param("gpu", "GPU", REASON_SCHEDULER, id="case matters"),
    ],
)
def test_binds_only_pods_of_the_named_schedulers(
    load_function: Load, tmp_path: Path, named: str | None, scheduler: str | None, error: str
) -> None:
    with verified_kubernetes() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0", scheduler=scheduler)
        variables = {"BERTH_KUBECONFIG": str(kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority))}
        handler = load_function("bind", variables | ({} if named is None else {"BERTH_SCHEDULER_NAMES": named}))
        assert call(handler, body_of(binding()), "bind").error == error
        assert kubernetes.node_of("train-0") == ("" if error else "n10")
