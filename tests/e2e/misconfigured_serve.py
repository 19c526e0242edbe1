"""`berth serve` on a real API server, and a second scheduler's configuration in a ConfigMap there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from berth_cli.doctor.findings import CheckName, Result

from .control_plane import ControlPlane
from .document_changes import Change, entry, one_more, top
from .identities import RBAC, counted_resources, identities, serve
from .kubernetes_api import KubernetesApi
from .loopback import HOST, free_port
from .manifests import apply_manifests, read_manifests
from .misconfiguration import Broken, Options, Said
from .scheduler_config import berth_scheduler_config
from .time_shift import ahead

NAMESPACE, NAME = "kube-system", "berth-examined"
MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
WAKE = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/berth-wake"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ELSEWHERE = "http://127.0.0.2:1/elsewhere"
COUNTING = "profile: managed-resources\nmanagedResources:\n  - {name: example.com/licence}\n"


@dataclass(frozen=True)
class Served:
    """Where all of it is."""

    api: KubernetesApi
    administrator: Path
    watcher: Path
    binder: Path
    url_prefix: str
    directory: Path

    @property
    def options(self) -> Options:
        """All that the command can be told of it."""
        return (
            f"--kubeconfig={self.administrator}",
            f"--scheduler-configmap={NAMESPACE}/{NAME}",
            f"--watcher-kubeconfig={self.watcher}",
            f"--binder-kubeconfig={self.binder}",
            f"--config={self.directory / 'berth.yaml'}",
            "--timeout=30",
        )

    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path


@contextmanager
def served(control_plane: ControlPlane, directory: Path) -> Iterator[Served]:
    """The documented rights, and what `berth scheduler-config` prints; it runs until the block ends."""
    api, found = KubernetesApi(control_plane.credentials()), identities(control_plane)
    watcher, binder = (control_plane.kubeconfig(each) for each in (found.watcher, found.binder))
    with counted_resources(control_plane), serve(control_plane, directory) as berth:
        printed = berth_scheduler_config(
            f"--url={berth.url_prefix}", f"--second-scheduler={NAME}", "--http-timeout=29s"
        )
        apply_manifests(api, list(yaml.safe_load_all(printed)))
        yield Served(api, control_plane.kubeconfig(), watcher, binder, berth.url_prefix, directory)


def configured(change: Change, *options: str) -> Callable[[Served], AbstractContextManager[Options]]:
    """With another configuration in the cluster."""
    return lambda served: _configured(served, change, options)


@contextmanager
def _configured(served: Served, change: Change, options: Options) -> Iterator[Options]:
    text = served.api.get(MAP)["data"]["config.yaml"]
    document: dict[str, Any] = yaml.safe_load(text)
    change(document)
    served.api.patch(MAP, {"data": {"config.yaml": yaml.safe_dump(document)}})
    try:
        yield options
    finally:
        served.api.patch(MAP, {"data": {"config.yaml": text}})


@contextmanager
def _extender_elsewhere(served: Served) -> Iterator[Options]:
    with _configured(served, entry(urlPrefix=ELSEWHERE), (f"--url={served.url_prefix}",)) as options:
        yield options


@contextmanager
def _nobody_listens(served: Served) -> Iterator[Options]:
    with _configured(served, entry(urlPrefix=f"http://{HOST}:{free_port()}/scheduler"), ()) as options:
        yield options


@contextmanager
def _a_wrong_clock(served: Served) -> Iterator[Options]:
    with ahead(served.url_prefix, 3600) as address, _configured(served, entry(urlPrefix=address), ()) as options:
        yield options


@contextmanager
def _without_right(served: Served, role: str, verb: str, resource: str) -> Iterator[Options]:
    path = f"{ROLES}/{role}"
    rules = served.api.get(path)["rules"]
    fewer = [
        {**rule, "verbs": [each for each in rule["verbs"] if each != verb]} if resource in rule["resources"] else rule
        for rule in rules
    ]
    served.api.patch(path, {"rules": [rule for rule in fewer if rule["verbs"]]})
    try:
        yield ()
    finally:
        served.api.patch(path, {"rules": rules})


@contextmanager
def _without_wake_object(served: Served) -> Iterator[Options]:
    served.api.delete(WAKE)
    try:
        yield ()
    finally:
        apply_manifests(served.api, [each for each in read_manifests(RBAC) if each["kind"] == "CSIStorageCapacity"])


@contextmanager
def _counting(served: Served) -> Iterator[Options]:
    yield (f"--config={served.file('counting.yaml', COUNTING)}",)


@contextmanager
def _no_kubeconfig(served: Served) -> Iterator[Options]:
    yield (f"--watcher-kubeconfig={served.file('not-a-kubeconfig', 'apiVersion: v1')}",)


WARNING = Result.WARNING
CONFIGURATIONS: tuple[Broken[Served], ...] = (
    Broken(
        "a field that kube-scheduler does not know",
        {CheckName.SCHEDULER: Said("nodeCachCapable", "berth scheduler-config")},
        configured(entry(nodeCachCapable=True)),
    ),
    Broken(
        "an extender that is not Berth's",
        {CheckName.EXTENDER: Said("has no extender that calls", "berth scheduler-config")},
        _extender_elsewhere,
    ),
    Broken(
        "a sample of the nodes",
        {CheckName.PERCENTAGE_OF_NODES_TO_SCORE: Said("called for some of them", "100")},
        configured(top(percentageOfNodesToScore=5)),
    ),
    Broken(
        "the lock of the cluster's own scheduler",
        {CheckName.LEADER_ELECTION: Said("waits for it forever", "resourceName")},
        configured(top(leaderElection={"leaderElect": True, "resourceName": "kube-scheduler"})),
    ),
    Broken(
        "full mode",
        {CheckName.NODE_CACHE_CAPABLE: Said("whole Node objects are sent", "nodeCacheCapable: true", WARNING)},
        configured(entry(nodeCacheCapable=False)),
    ),
    Broken(
        "no weight",
        {CheckName.WEIGHT: Said("does not start", "weight: 1")},
        configured(entry(weight=0)),
    ),
    Broken(
        "scores that nobody asks for",
        {CheckName.FILTER_ONLYONE: Said("never called", "remove prioritizeVerb", WARNING)},
        configured(entry(filterVerb="filter_onlyone")),
    ),
    Broken(
        "two that bind",
        {CheckName.BIND_VERB: Said("2 extenders bind", "in one of them")},
        configured(one_more(urlPrefix=ELSEWHERE, bindVerb="bind")),
    ),
    Broken(
        "pods without its rules while it is down",
        {CheckName.IGNORABLE: Said("without its rules", "ignorable: false", WARNING)},
        configured(entry(ignorable=True, bindVerb=None)),
    ),
    Broken(
        "a counted resource that the scheduler counts, too",
        {CheckName.MANAGED_RESOURCES: Said("not ignored by the scheduler", "berth scheduler-config", WARNING)},
        _counting,
    ),
    Broken(
        "HTTPS in name only",
        {CheckName.URL_PREFIX: Said("nothing is encrypted", "https://")},
        configured(entry(enableHTTPS=True)),
    ),
    Broken(
        "scores that are swallowed",
        {CheckName.PRIORITIZE_VERB: Said("kube-scheduler ignores this error", "prioritizeVerb: prioritize")},
        configured(entry(prioritizeVerb="priority")),
    ),
    Broken(
        "a filter that is not there",
        {CheckName.FILTER_VERB: Said("404", "filterVerb: filter")},
        configured(entry(filterVerb="predicates")),
    ),
    Broken(
        "a bind that is not there",
        {CheckName.BIND_VERB: Said("404", "bindVerb: bind")},
        configured(entry(bindVerb="binding")),
    ),
    Broken(
        "a preempt that is not there",
        {CheckName.PREEMPT_VERB: Said("404", "preemptVerb: preempt")},
        configured(entry(preemptVerb="preemption")),
    ),
    Broken(
        "nobody listens",
        {CheckName.VERBS: Said("connection refused", "check whether")},
        _nobody_listens,
    ),
    Broken(
        "less time than a call takes",
        {CheckName.HTTP_TIMEOUT: Said("calls time out", "raise httpTimeout")},
        configured(entry(httpTimeout="1ms")),
    ),
    Broken(
        "a clock that is an hour ahead",
        {CheckName.CLOCK: Said("ahead of this machine's", "time server")},
        _a_wrong_clock,
    ),
    Broken(
        "a kubeconfig that is none",
        {CheckName.KUBECONFIG: Said("not-a-kubeconfig", "kubectl")},
        _no_kubeconfig,
    ),
)
"""What doctor sees at once."""

RIGHTS: tuple[Broken[Served], ...] = (
    Broken(
        "the watcher may not watch pods",
        {CheckName.WATCHER_RIGHTS: Said("may not watch pods", "examples/rbac.yaml")},
        lambda served: _without_right(served, "berth-watcher", "watch", "pods"),
    ),
    Broken(
        "nobody may bind",
        {CheckName.BIND_RIGHTS: Said("may not create pods/binding", "examples/rbac.yaml")},
        lambda served: _without_right(served, "berth-binder", "create", "pods/binding"),
    ),
    Broken(
        "nothing wakes the queue",
        {CheckName.WAKE_UP: Said("only after minutes", "examples/rbac.yaml")},
        _without_wake_object,
    ),
)
"""What the API server's authorizer hears of after a moment."""
