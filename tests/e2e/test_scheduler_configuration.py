"""berth doctor accepts exactly the configurations that kube-scheduler accepts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from berth_cli.installation.doctor.scheduler_configuration import InvalidSchedulerConfiguration, from_file

from .kubernetes.control_plane import BINARY

pytestmark = pytest.mark.core

SECONDS = 60
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def document(kubeconfig: Path, rest: str) -> str:
    return f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: false}}
{rest}
"""


def extender(fields: str) -> str:
    return f"extenders: [{{urlPrefix: 'http://h/scheduler', filterVerb: filter, {fields}}}]"


DURATIONS = ("5s", "1m30s", ".5s", "+1s", "0", "5", "5 s", "5sec", "5d", "", "1e3s", "1.s", "s")
DOCUMENTS = {
    **{f"httpTimeout {text!r}": extender(f"httpTimeout: '{text}'") for text in DURATIONS},
    "httpTimeout as a number": extender("httpTimeout: 5"),
    "httpTimeout null": extender("httpTimeout: null"),
    "extenders null": "extenders: null",
    "profiles null": "profiles: null",
    "percentageOfNodesToScore null": "percentageOfNodesToScore: null",
    "a verb null": extender("bindVerb: null"),
    "tlsConfig null": extender("tlsConfig: null"),
    "a field misspelled": extender("nodeCacheCapabel: true"),
    "a key twice": extender("weight: 1, weight: 2"),
    "a word for a boolean": extender("nodeCacheCapable: yes"),
    "a text for a boolean": extender("nodeCacheCapable: 'true'"),
    "a text for a number": extender("weight: '1'"),
}


@pytest.mark.parametrize("rest", [pytest.param(text, id=name) for name, text in DOCUMENTS.items()])
def test_doctor_reads_a_scheduler_configuration_like_kube_scheduler(rest: str, tmp_path: Path) -> None:
    kubeconfig, path, written = (tmp_path / name for name in ("kubeconfig", "scheduler.yaml", "written.yaml"))
    kubeconfig.write_text(KUBECONFIG)
    path.write_text(document(kubeconfig, rest))
    command = [str(BINARY), "kube-scheduler", f"--config={path}", "--secure-port=0", f"--write-config-to={written}"]
    # The scheduler writes the configuration and exits, without a call to the API server.
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    refusal = _refusal(path)
    assert bool(refusal) is not written.exists(), (refusal, ended.stderr)


def _refusal(path: Path) -> str:
    try:
        from_file(path)
    except InvalidSchedulerConfiguration as error:
        return str(error)
    return ""
