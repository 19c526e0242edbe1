"""bind's function: what becomes of a request when there is no cluster to bind in."""

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


def test_reports_unreadable_kubeconfig_and_reads_it_again(
    load_function: Load, tmp_path: Path, log_lines: LogLines
) -> None:
    path = tmp_path / "kubeconfig"
    handler = load_function("bind", {"BERTH_KUBECONFIG": str(path)})
    answer = call(handler, body_of(binding()), "bind")
    assert (answer.status, answer.error) == (200, f"kubeconfig {path}: No such file or directory")
    assert [(line["level"], line["outcome"]) for line in log_lines.all()] == [
        ("WARNING", "failure-cluster-unavailable")
    ]
    with verified_kubernetes() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        assert call(handler, body_of(binding()), "bind").error == ""
        assert kubernetes.node_of("train-0") == "n10"


def test_error_names_remedy_when_api_server_is_unreachable(load_function: Load, tmp_path: Path) -> None:
    with verified_kubernetes() as gone:
        kubeconfig = kubeconfig_for(gone.host, tmp_path, gone.authority)
    handler = load_function("bind", {"BERTH_KUBECONFIG": str(kubeconfig)})
    assert call(handler, body_of(binding()), "bind").error == (
        f"the API server did not confirm the binding: {gone.host} cannot be reached; "
        "check the kubeconfig's server or EksEndpoint, and the network to it"
    )


def test_warm_up_connects_and_binds_nothing(load_function: Load, tmp_path: Path) -> None:
    """The next bind finds its credentials read."""
    with verified_kubernetes() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        kubeconfig = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        handler = load_function("bind", {"BERTH_KUBECONFIG": str(kubeconfig)})
        assert handler(WARM_UP_EVENT, None)["statusCode"] == 200
        assert kubernetes.requests == []
        kubeconfig.unlink()
        assert call(handler, body_of(binding()), "bind").error == ""


def test_failed_warm_up_reports_nothing(load_function: Load, tmp_path: Path, log_lines: LogLines) -> None:
    handler = load_function("bind", {"BERTH_KUBECONFIG": str(tmp_path / "absent")})
    assert handler(WARM_UP_EVENT, None)["body"] == '{"version":0}'
    assert log_lines.all() == []
