"""Misconfigurations of `berth serve` on a real API server with a second scheduler, configured by a ConfigMap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from berth_cli.installation.doctor.findings import CheckName, Result
from tests.e2e.berth.berth_serve import BerthServe
from tests.e2e.berth.identities import RBAC, counted_resources, identities, serve
from tests.e2e.berth.scheduler_config import berth_scheduler_config
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.document_changes import Change, add_extender, extender
from tests.e2e.kubernetes.kubernetes_api import KubernetesApi
from tests.e2e.kubernetes.loopback import HOST, free_port
from tests.e2e.kubernetes.manifests import apply_manifests, read_manifests

from .misconfiguration import ExpectedFinding, Misconfiguration, Options

NAMESPACE, NAME = "kube-system", "berth-examined"
SERVICE_ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"
CONFIG_MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
WAKE = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/berth-wake"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
EXAMPLE_CLUSTER = Path(__file__).parents[3] / "examples" / "cluster.yaml"
UNLABELLED = "unlabelled"
MISSPELLED = "berth-examind"
OTHER_ADDRESS = "http://127.0.0.2:1/elsewhere"
COUNTED_CONFIGURATION = "profile: managed-resources\nmanagedResources:\n  - {name: example.com/licence}\n"


@dataclass(frozen=True)
class Installation:
    """Addresses and files of an installation."""

    api: KubernetesApi
    administrator: Path
    watcher: Path
    url_prefix: str
    directory: Path

    @property
    def options(self) -> Options:
        """Every option that describes the installation."""
        return (
            f"--kubeconfig={self.administrator}",
            f"--scheduler-configmap={NAMESPACE}/{NAME}",
            f"--watcher-user={SERVICE_ACCOUNTS}berth-watcher",
            f"--binder-user={SERVICE_ACCOUNTS}berth-binder",
            f"--config={self.directory / 'berth.yaml'}",
            "--timeout=15",
        )

    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path


@contextmanager
def installation(control_plane: ControlPlane, directory: Path) -> Iterator[Installation]:
    """`berth serve` with the documented rights and the manifests manifests; it runs until the context exits."""
    api, found = KubernetesApi(control_plane.credentials()), identities(control_plane)
    with counted_resources(control_plane), serve(control_plane, directory) as berth:
        manifests = berth_scheduler_config(
            f"--url={berth.url_prefix}", f"--second-scheduler={NAME}", "--http-timeout=29s"
        )
        apply_manifests(api, list(yaml.safe_load_all(manifests)))
        yield Installation(
            api, control_plane.kubeconfig(), control_plane.kubeconfig(found.watcher), berth.url_prefix, directory
        )


def with_configuration(change: Change, *options: str) -> Callable[[Installation], AbstractContextManager[Options]]:
    """Change the configuration in the cluster."""
    return lambda installation: _configured(installation, change, options)


@contextmanager
def _configured(installation: Installation, change: Change, options: Options) -> Iterator[Options]:
    text = installation.api.get(CONFIG_MAP)["data"]["config.yaml"]
    document: dict[str, Any] = yaml.safe_load(text)
    change(document)
    installation.api.patch(CONFIG_MAP, {"data": {"config.yaml": yaml.safe_dump(document)}})
    try:
        yield options
    finally:
        installation.api.patch(CONFIG_MAP, {"data": {"config.yaml": text}})


@contextmanager
def _closed_port(installation: Installation) -> Iterator[Options]:
    with _configured(installation, extender(urlPrefix=f"http://{HOST}:{free_port()}/scheduler"), ()) as options:
        yield options


@contextmanager
def _without_right(installation: Installation, role: str, verb: str, resource: str) -> Iterator[Options]:
    path = f"{ROLES}/{role}"
    rules = installation.api.get(path)["rules"]
    reduced = [
        {**rule, "verbs": [each for each in rule["verbs"] if each != verb]} if resource in rule["resources"] else rule
        for rule in rules
    ]
    installation.api.patch(path, {"rules": [rule for rule in reduced if rule["verbs"]]})
    try:
        yield ()
    finally:
        installation.api.patch(path, {"rules": rules})


@contextmanager
def _without_wake_object(installation: Installation) -> Iterator[Options]:
    installation.api.delete(WAKE)
    try:
        yield ()
    finally:
        apply_manifests(
            installation.api, [each for each in read_manifests(RBAC) if each["kind"] == "CSIStorageCapacity"]
        )


@contextmanager
def _with_counted_resource(installation: Installation) -> Iterator[Options]:
    yield (f"--config={installation.file('counting.yaml', COUNTED_CONFIGURATION)}",)


@contextmanager
def _server_on_dump(installation: Installation) -> Iterator[Options]:
    directory = installation.directory / "on-dump"
    directory.mkdir()
    with (
        BerthServe(EXAMPLE_CLUSTER, directory, is_dump=True) as other,
        _configured(installation, extender(urlPrefix=other.url_prefix), ()) as options,
    ):
        yield options


@contextmanager
def _node_without_label(installation: Installation) -> Iterator[Options]:
    installation.api.create("/api/v1/nodes", {"metadata": {"name": UNLABELLED}})
    try:
        yield ()
    finally:
        installation.api.delete(f"/api/v1/nodes/{UNLABELLED}")


WARNING = Result.WARNING
CONFIGURATIONS: tuple[Misconfiguration[Installation], ...] = (
    Misconfiguration(
        "unknown field",
        {CheckName.SCHEDULER: ExpectedFinding("nodeCachCapable", "berth scheduler-config")},
        with_configuration(extender(nodeCachCapable=True)),
    ),
    Misconfiguration(
        "two extenders with bindVerb",
        {CheckName.BIND_VERB: ExpectedFinding("2 extenders bind", "in one of them")},
        with_configuration(add_extender(urlPrefix=OTHER_ADDRESS, bindVerb="bind")),
    ),
    Misconfiguration(
        "counted resource that the scheduler does not ignore",
        {
            CheckName.MANAGED_RESOURCES: ExpectedFinding(
                "not ignored by the scheduler", "berth scheduler-config", WARNING
            ),
            CheckName.CONFIGURATION: ExpectedFinding("differs in profile, managedResources", "berth serve --config"),
        },
        _with_counted_resource,
    ),
    Misconfiguration(
        "server on a dump",
        {CheckName.SAME_CLUSTER: ExpectedFinding("Berth reads a dump", "--kubeconfig")},
        _server_on_dump,
    ),
    Misconfiguration(
        "no node passes the policy",
        {CheckName.POLICY: ExpectedFinding("none of the 1 nodes passes", "label the nodes")},
        _node_without_label,
    ),
    Misconfiguration(
        "wrong filterVerb",
        {CheckName.FILTER_VERB: ExpectedFinding("404", "filterVerb: filter")},
        with_configuration(extender(filterVerb="predicates")),
    ),
    Misconfiguration(
        "closed port",
        {CheckName.VERBS: ExpectedFinding("connection refused", "check whether")},
        _closed_port,
    ),
)
"""Misconfigurations that doctor reports immediately."""

RIGHTS: tuple[Misconfiguration[Installation], ...] = (
    Misconfiguration(
        "watcher lacks watch pods",
        {CheckName.WATCHER_RIGHTS: ExpectedFinding("may not watch pods", "examples/rbac.yaml")},
        lambda installation: _without_right(installation, "berth-watcher", "watch", "pods"),
    ),
    Misconfiguration(
        "binder lacks create pods/binding",
        {CheckName.BIND_RIGHTS: ExpectedFinding("may not create pods/binding", "examples/rbac.yaml")},
        lambda installation: _without_right(installation, "berth-binder", "create", "pods/binding"),
    ),
    Misconfiguration(
        "wake-up object is missing",
        {CheckName.WAKE_UP: ExpectedFinding("only after minutes", "examples/rbac.yaml")},
        _without_wake_object,
    ),
)
"""Misconfigurations of RBAC, which the authorizer of the API server applies after a moment."""
