"""bind's function without a cluster to bind in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from berth.runtime.http.events import WARM_UP_EVENT
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.requests import binding, body_of
from tests.fakes.api_server import verified_kubernetes
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import call

Load = Callable[..., Callable[..., Any]]


def test_warm_up_connects_without_binding(load_function: Load, tmp_path: Path) -> None:
    """The next bind finds its credentials read."""
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
