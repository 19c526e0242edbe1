"""A real control plane on loopback: etcd and kube-apiserver for a session, kube-scheduler per configuration."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL, Signals
from typing import Protocol, Self

from .child_process import ChildProcess
from .kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi, answers_readyz
from .loopback import HOST, free_port
from .scheduler_configuration import ExtenderConfiguration, SchedulerConfiguration

# The version of Kubernetes; the Makefile has the same default, and exports it.
KUBERNETES = os.environ.get("KUBERNETES") or "1.36"
BINARY = Path(__file__).parents[3] / ".build" / f"controlplane-{KUBERNETES}"

ADMIN = "admin"
SCHEDULER = "system:kube-scheduler"
# Static users and their groups: with RBAC the scheduler has its usual role.
# The last two stand for the roles of the functions on EKS, with the groups of their access entries.
EKS_WATCHER, EKS_BINDER = "eks-watcher", "eks-binder"
GROUPS = {ADMIN: "system:masters", SCHEDULER: "", EKS_WATCHER: "berth-watcher", EKS_BINDER: "berth-binder"}

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

START_SECONDS = 60
TOKEN_SECONDS = 86_400


class RunScheduler(Protocol):
    """Replaces the running kube-scheduler with one that has these extenders."""

    def __call__(self, *extenders: ExtenderConfiguration) -> None: ...


class ControlPlane:
    """Starts etcd and kube-apiserver in `directory`, and stops all processes.

    audited: whether every request is recorded. flags: more flags of kube-apiserver.
    """

    def __init__(self, directory: Path, *, audited: bool = False, flags: Sequence[str] = ()) -> None:
        self._directory = directory
        self._flags = flags
        self._audit_log = directory / "audit.log"
        self._audited = audited
        self._certificates = directory / "certificates"
        self._etcd_url = f"http://{HOST}:{free_port()}"
        self._etcd_peer_url = f"http://{HOST}:{free_port()}"
        self._server = f"https://{HOST}:{free_port()}"
        self._tokens = {user: secrets.token_hex(16) for user in GROUPS}
        self._running = ExitStack()
        self._processes: dict[str, ChildProcess] = {}
        self._files_written = 0

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.push(self._running)
            self._start_etcd()
            self._start_apiserver()
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def credentials(self, user: str = ADMIN) -> Credentials:
        # The self-signed certificate file is also its CA file.
        return Credentials(self._server, self._certificates / "apiserver.crt", self._tokens[user])

    def service_account(self, namespace: str, name: str) -> Credentials:
        api = KubernetesApi(self.credentials())
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = api.create(path, {"spec": {"expirationSeconds": TOKEN_SECONDS}})  # by default an hour
        return replace(self.credentials(), token=request["status"]["token"])

    def send(self, process: str, what: Signals) -> None:
        self._processes[process].send(what)

    def kill(self, process: str) -> None:
        self._processes[process].stop(SIGKILL)

    def start_again(self, process: str) -> None:
        """Start a killed process again, with its data. Returns when the API server is ready."""
        {"etcd": self._start_etcd, "kube-apiserver": self._start_apiserver}[process]()
        self._processes["kube-apiserver"].wait_until(self._is_ready, seconds=START_SECONDS)

    def serving_certificate(self) -> tuple[Path, Path]:
        """Return the API server's certificate and key, which a proxy on loopback uses, too."""
        return self._certificates / "apiserver.crt", self._certificates / "apiserver.key"

    def audit(self) -> list[JsonObject]:
        return [json.loads(line) for line in self._audit_log.read_text().splitlines()]

    def kubeconfig(self, credentials: Credentials | None = None) -> Path:
        """Write a kubeconfig file with these credentials, or with the administrator's."""
        self._files_written += 1
        path = self._directory / f"{self._files_written}.kubeconfig"
        _write(path, (credentials or self.credentials()).kubeconfig())
        return path

    @contextmanager
    def scheduler(
        self,
        configuration: SchedulerConfiguration,
        credentials: Credentials | None = None,
        flags: Sequence[str] = ("-v=2",),
    ) -> Iterator[ChildProcess]:
        """Run kube-scheduler; its caches are synchronized when the body begins."""
        kubeconfig = self.kubeconfig(credentials or self.credentials(SCHEDULER))
        self._files_written += 1
        name = f"kube-scheduler-{self._files_written}"
        path = self._directory / f"{name}.json"
        connection = {**configuration.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
        _write(path, {**configuration, "clientConnection": connection})
        port = free_port()
        process = ChildProcess(
            [
                BINARY,
                "kube-scheduler",
                f"--config={path}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                f"--bind-address={HOST}",
                f"--secure-port={port}",
                f"--cert-dir={self._certificates}",
                *flags,
            ],
            log=self._directory / f"{name}.log",
        )
        try:
            server, certificate = f"https://{HOST}:{port}", self._certificates / "kube-scheduler.crt"
            process.wait_until(lambda: answers_readyz(server, certificate), seconds=START_SECONDS)
            yield process
        finally:
            process.stop()

    def _log(self, process: str) -> Path:
        """Return the path of the log; each start has a separate file."""
        self._files_written += 1
        return self._directory / f"{process}-{self._files_written}.log"

    def _start_etcd(self) -> None:
        etcd = ChildProcess(
            [
                BINARY,
                "etcd",
                f"--data-dir={self._directory / 'etcd'}",
                f"--listen-client-urls={self._etcd_url}",
                f"--listen-peer-urls={self._etcd_peer_url}",
            ],
            log=self._log("etcd"),
        )
        self._running.callback(etcd.stop)
        self._processes["etcd"] = etcd
        # The API server waits for etcd, so its readiness includes etcd's readiness.

    def _start_apiserver(self) -> None:
        tokens = self._directory / "tokens.csv"
        lines = [f'{token},{user},{user},"{GROUPS[user]}"' for user, token in self._tokens.items()]
        tokens.write_text("\n".join(lines))
        # The API server creates this key before it reads its service account keys, so one key serves both.
        key = self._certificates / "apiserver.key"
        audit_policy = self._directory / "audit-policy.json"
        _write(audit_policy, AUDIT_POLICY)
        audit = [f"--audit-policy-file={audit_policy}", f"--audit-log-path={self._audit_log}"]
        apiserver = ChildProcess(
            [
                BINARY,
                "kube-apiserver",
                f"--etcd-servers={self._etcd_url}",
                f"--bind-address={HOST}",
                f"--secure-port={self._server.rpartition(':')[2]}",
                # No client uses this address; with it the server also starts without a network.
                f"--advertise-address={HOST}",
                "--endpoint-reconciler-type=none",
                f"--cert-dir={self._certificates}",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-cluster-ip-range=10.0.0.0/24",
                # No controller creates service accounts for pods or marks new nodes as ready.
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
                *(audit if self._audited else ()),
                *self._flags,
            ],
            log=self._log("kube-apiserver"),
        )
        self._running.callback(apiserver.stop)
        self._processes["kube-apiserver"] = apiserver
        apiserver.wait_until(self._is_ready, seconds=START_SECONDS)

    def _is_ready(self) -> bool:
        credentials = self.credentials()
        return answers_readyz(credentials.server, credentials.ca_file) and _has_namespaces(credentials)


def _has_namespaces(credentials: Credentials) -> bool:
    """Return whether the first namespaces exist; the server creates them after `/readyz` succeeds."""
    api = KubernetesApi(credentials)
    try:
        for namespace in ("default", "kube-system"):
            api.get(f"/api/v1/namespaces/{namespace}")
    except ApiError:
        return False
    return True


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document))  # JSON is YAML
