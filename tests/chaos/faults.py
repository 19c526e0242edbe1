"""What goes wrong in a round. Entering a fault does it, leaving it ends it; the workload goes on all the time."""

from __future__ import annotations

import json
import string
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from random import Random
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals
from threading import Event, Thread

from berth.lease.dynamodb_item import HEAD_KEY
from berth_cli.doctor.findings import CheckName
from berth_cli.serve.stores import CACHE_TABLE, LEDGER_TABLE
from tests.chaos.checks import Checks, Finding
from tests.chaos.cluster_model import DEVICE_ANNOTATION, NODES, SCHEDULERS, drawn_request, node, pod, pod_on_account
from tests.chaos.faulty_proxy import Answer, Cut
from tests.chaos.set_up import SetUp
from tests.chaos.workload import NOW
from tests.e2e.identities import COUNTED_RESOURCES
from tests.e2e.kubernetes_api import ApiError, JsonObject, KubernetesApi
from tests.e2e.manifests import apply_manifests, delete_manifests, read_manifests

RATE = 0.3
THROTTLED_RATE = 0.9
HOUR = 3600.0
EPOCH = 3
"""A table is lost after the lease has changed hands so often."""

LOST_SECONDS = 5
"""How long the first of two tables is away."""

BACK_SECONDS = 120
"""The longest that Berth may take to make good the loss of the first of two tables."""

EDIT_SECONDS = 0.3

OVERSIZED_PODS = 3
RUNNING_SECONDS = 60
"""The longest that so many pods may take to run."""

OVERSIZED_LABELS = 1700
"""Of 370 characters each, which hardly compress: above the 350 kB of an item, and below what etcd takes."""


@dataclass(frozen=True)
class Fault:
    """seconds: how long it lasts. named: doctor has to call one of these bad meanwhile; empty: it is not asked.

    recovery_seconds: after which all checks have to hold, counted from its end.
    """

    name: str
    does: Callable[[SetUp], AbstractContextManager[None]]
    seconds: float
    recovery_seconds: float = 60
    named: frozenset[CheckName] = frozenset()
    epoch: int = 0
    """The least epoch of the lease before it begins."""

    meanwhile: Callable[[Checks], Sequence[Finding]] | None = None
    """What has to hold before it ends."""


def _status(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return json.dumps({**status, "message": "by order of the test"}).encode()


def _thrown(status: int, name: str) -> Answer:
    kind = f"com.amazonaws.dynamodb.v20120810#{name}"
    return Answer(status, json.dumps({"__type": kind, "message": "by order of the test"}).encode())


API_FAULTS = (
    Answer(500, _status(500, "InternalError")),
    Answer(429, _status(429, "TooManyRequests"), headers=(("Retry-After", "1"),)),
    Cut.BEFORE,
    Cut.AFTER,
)
TABLE_FAULTS = (
    _thrown(500, "InternalServerError"),
    _thrown(400, "ProvisionedThroughputExceededException"),
    Cut.BEFORE,
    Cut.AFTER,
)
THROTTLED = (
    _thrown(400, "ProvisionedThroughputExceededException"),
    _thrown(400, "ThrottlingException"),
    _thrown(400, "RequestLimitExceeded"),
)
NO_TABLE = _thrown(400, "ResourceNotFoundException")
EXPIRED = Answer(200, json.dumps({"type": "ERROR", "object": json.loads(_status(410, "Expired"))}).encode() + b"\n")


# ----------------------------------------------------------------------------------------------------------- processes
def killed(*berths: int) -> Callable[[SetUp], AbstractContextManager[None]]:
    """These of the two end by SIGKILL, and are started again."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        chosen = [set_up.berths[each] for each in berths]
        for berth in chosen:
            berth.stop(SIGKILL)
        yield
        for berth in chosen:
            berth.start()
        for berth in chosen:
            berth.wait_until_ready()

    return does


def frozen(*berths: int) -> Callable[[SetUp], AbstractContextManager[None]]:
    """These of the two stand still, longer than the lease lasts, and then go on as if nothing had been."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        with ExitStack() as frozen_ones:
            for each in berths:
                frozen_ones.enter_context(standing_still(set_up.berths[each].send))
            yield

    return does


@contextmanager
def _scheduler_killed(set_up: SetUp) -> Iterator[None]:
    scheduler = set_up.schedulers[0]
    scheduler.send(SIGKILL)
    yield
    scheduler.stop()
    scheduler.start()


def _scheduler_frozen(set_up: SetUp) -> AbstractContextManager[None]:
    return standing_still(set_up.schedulers[0].send)


@contextmanager
def _all_killed(set_up: SetUp) -> Iterator[None]:
    for scheduler in set_up.schedulers:
        scheduler.send(SIGKILL)
    with killed(0, 1)(set_up):
        yield
    for scheduler in set_up.schedulers:
        scheduler.stop()
        scheduler.start()


def server_frozen(process: str) -> Callable[[SetUp], AbstractContextManager[None]]:
    """A process of the control plane pauses: it neither refuses nor answers."""
    return lambda set_up: standing_still(lambda what: set_up.control_plane.send(process, what))


def _tables_frozen(set_up: SetUp) -> AbstractContextManager[None]:
    return standing_still(set_up.emulator.send)


@contextmanager
def standing_still(send: Callable[[Signals], None]) -> Iterator[None]:
    """Stop a process until the block ends."""
    send(SIGSTOP)
    try:
        yield
    finally:
        send(SIGCONT)


# --------------------------------------------------------------------------------------------------------------- calls
def _api_fails(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.api_proxy.failing(RATE, API_FAULTS, set_up.random)


def _api_is_away(set_up: SetUp) -> AbstractContextManager[None]:
    set_up.api_proxy.cut_streams()
    return set_up.api_proxy.failing(1.0, (Cut.BEFORE,), set_up.random)


def _tables_fail(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.tables_proxy.failing(RATE, TABLE_FAULTS, set_up.random)


def _tables_throttled(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.tables_proxy.failing(THROTTLED_RATE, THROTTLED, set_up.random)


def _watches_expire(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.api_proxy.expiring_watches(EXPIRED)


@contextmanager
def _answers_are_lost(set_up: SetUp) -> Iterator[None]:
    """Every request is carried out, and many responses are lost."""
    with (
        set_up.api_proxy.failing(RATE, (Cut.AFTER,), set_up.random),
        set_up.tables_proxy.failing(RATE, (Cut.AFTER,), set_up.random),
    ):
        yield


# -------------------------------------------------------------------------------------------------------------- tables
@contextmanager
def _head_lost(set_up: SetUp) -> Iterator[None]:
    set_up.tables.delete_item(TableName=CACHE_TABLE, Key=HEAD_KEY)
    yield


@contextmanager
def _cache_emptied(set_up: SetUp) -> Iterator[None]:
    """The applied configuration with it. What is counted must not be given away until it is applied again."""
    set_up.empty(CACHE_TABLE)
    yield
    set_up.apply_configuration()


@contextmanager
def _cache_table_lost(set_up: SetUp) -> Iterator[None]:
    with set_up.without_table(CACHE_TABLE):
        yield
    set_up.apply_configuration()


def _ledger_table_lost(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.without_table(LEDGER_TABLE)


@contextmanager
def _both_tables_lost(set_up: SetUp) -> Iterator[None]:
    """Nothing is left that tells what was counted: Berth gets its tables back when the configuration is applied."""
    with set_up.tables_proxy.failing(1.0, (NO_TABLE,), set_up.random):
        with set_up.without_table(CACHE_TABLE), set_up.without_table(LEDGER_TABLE):
            yield
        set_up.apply_configuration()


@contextmanager
def _ledger_lost_after_cache(set_up: SetUp) -> Iterator[None]:
    """Nobody applies the configuration again: the ledger's copy brings it back, before the ledger is lost."""
    with set_up.without_table(CACHE_TABLE):
        time.sleep(LOST_SECONDS)
    set_up.wait_until(set_up.has_configuration, BACK_SECONDS, "the applied configuration is in force again")
    with set_up.without_table(LEDGER_TABLE):
        yield


@contextmanager
def _cache_lost_after_ledger(set_up: SetUp) -> Iterator[None]:
    """The ledger gets its copy of the document with the next leadership only, so it has to be applied again."""
    with set_up.without_table(LEDGER_TABLE):
        time.sleep(LOST_SECONDS)
    set_up.wait_until(set_up.has_ledger, BACK_SECONDS, "the ledger is rebuilt")
    with set_up.without_table(CACHE_TABLE):
        yield
    set_up.apply_configuration()


# -------------------------------------------------------------------------------------------------------------- clocks
def clock(seconds: float) -> Callable[[SetUp], AbstractContextManager[None]]:
    """One of the two has another time than everybody else, and then the right one again."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        set_up.berths[0].jump(seconds)
        yield
        set_up.berths[0].jump(0)

    return does


# ------------------------------------------------------------------------------------------------------------- cluster
@contextmanager
def _nodes_come_and_go(set_up: SetUp) -> Iterator[None]:
    """Nodes go with their pods, as the garbage collector would take them, and come again under their names."""
    chosen = set_up.random.sample(NODES[1:], 2)
    for name in chosen:
        set_up.api.delete(f"/api/v1/nodes/{name}")
        _collect_pods_of(set_up, name)
    yield
    for name in chosen:
        # Bound after the node was deleted, by a component that had not seen the deletion.
        _collect_pods_of(set_up, name)
        set_up.api.create("/api/v1/nodes", node(name))


def _collect_pods_of(set_up: SetUp, name: str) -> None:
    for each in set_up.api.get("/api/v1/pods")["items"]:
        if each["spec"].get("nodeName") == name:
            set_up.workload.forget(each["metadata"]["name"])
            set_up.workload.delete(each["metadata"]["name"])


@contextmanager
def _namespace_deleted(set_up: SetUp) -> Iterator[None]:
    """While its pods are being bound. Its end is made as the namespace controller makes it."""
    name = f"short-lived-{set_up.random.randrange(10**6)}"
    path = f"/api/v1/namespaces/{name}"
    set_up.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for number in range(20):
        one = pod(f"pod-{number}", drawn_request(set_up.random), SCHEDULERS[number % 2])
        set_up.api.create(f"{path}/pods", one)
    set_up.api.delete(path)
    yield
    for each in set_up.api.get(f"{path}/pods")["items"]:
        with suppress(ApiError):
            set_up.api.delete(f"{path}/pods/{each['metadata']['name']}", NOW)
    found = set_up.api.get(path)
    found["spec"]["finalizers"] = []
    set_up.api.replace(f"{path}/finalize", found)


@contextmanager
def _burst(set_up: SetUp) -> Iterator[None]:
    """More than there is room for, at once, by two schedulers that do not know of each other."""
    set_up.workload.burst(40)
    yield


@contextmanager
def _everything_fails(set_up: SetUp) -> Iterator[None]:
    """API server and tables at once, and one Berth is killed meanwhile."""
    with ExitStack() as failing:
        failing.enter_context(_api_fails(set_up))
        failing.enter_context(_tables_fail(set_up))
        with killed(0)(set_up):
            yield


# ---------------------------------------------------------------------------------------------------- cluster users
@contextmanager
def _owners_edit(set_up: SetUp) -> Iterator[None]:
    """Owners of running pods write another device into the annotation, or remove it; in the end they put it back.

    What such a pod holds is what it was bound with (see `Witness.as_bound`).
    """
    over = Event()
    before: dict[str, str] = {}

    def edit() -> None:
        random = Random(set_up.random.random())
        api = KubernetesApi(set_up.credentials)
        while not over.wait(EDIT_SECONDS):
            running = [each for each in api.get("/api/v1/pods")["items"] if DEVICE_ANNOTATION in _annotations(each)]
            if running:
                chosen = random.choice(running)
                path = f"/api/v1/namespaces/{chosen['metadata']['namespace']}/pods/{chosen['metadata']['name']}"
                before.setdefault(path, _annotations(chosen)[DEVICE_ANNOTATION])
                _annotate(api, path, random.choice(("0", "1", "200", "none", None)))

    thread = Thread(target=edit, name="owners", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
        for path, device in before.items():
            _annotate(set_up.api, path, device)


def _annotations(found: JsonObject) -> dict[str, str]:
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations


def _annotate(api: KubernetesApi, path: str, device: str | None) -> None:
    with suppress(ApiError):
        api.patch(path, {"metadata": {"annotations": {DEVICE_ANNOTATION: device}}})


@contextmanager
def _pods_grow(set_up: SetUp) -> Iterator[None]:
    """Owners of running pods give them more labels than an item of the cache has room for; the leader changes."""
    set_up.wait_until(lambda: len(_counted_and_running(set_up)) >= OVERSIZED_PODS, RUNNING_SECONDS, "pods run")
    chosen = set_up.random.sample(_counted_and_running(set_up), OVERSIZED_PODS)
    for each in chosen:
        # Nobody deletes it meanwhile.
        set_up.workload.forget(each["metadata"]["name"])
        set_up.api.patch(_path(each), {"metadata": {"labels": _large_labels(set_up.random)}})
    set_up.raise_epoch(set_up.epoch() + 1)
    yield
    for each in chosen:
        with suppress(ApiError):
            set_up.api.patch(_path(each), {"metadata": {"labels": None}})
        set_up.workload.delete(each["metadata"]["name"])


def _counted_and_running(set_up: SetUp) -> list[JsonObject]:
    """The workload's pods that are on a node and request counted resources."""
    pods = set_up.api.get("/api/v1/namespaces/default/pods")["items"]
    return [each for each in pods if each["spec"].get("nodeName") and _requests(each)]


def _path(found: JsonObject) -> str:
    return f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{found['metadata']['name']}"


def _requests(found: JsonObject) -> bool:
    return bool(pod_on_account(found).request)


def _large_labels(random: Random) -> dict[str, str]:
    def drawn(length: int) -> str:
        return "".join(random.choices(string.ascii_lowercase + string.digits, k=length))

    return {f"{'.'.join(drawn(60) for _ in range(4))}/{drawn(63)}": drawn(63) for _ in range(OVERSIZED_LABELS)}


@contextmanager
def _lease_deleted(set_up: SetUp) -> Iterator[None]:
    """The Lease that names the ledger. Nobody may count meanwhile; it is applied again as its manifest has it."""
    lease = [each for each in read_manifests(COUNTED_RESOURCES) if each["kind"] == "Lease"]
    delete_manifests(set_up.api, lease)
    yield
    apply_manifests(set_up.api, lease)


@contextmanager
def _another_store(set_up: SetUp) -> Iterator[None]:
    """The second scheduler calls a `berth serve` that has a store of its own, on the same cluster."""
    scheduler = set_up.schedulers[1]
    with set_up.with_own_store() as url_prefix, scheduler.calling(url_prefix):
        set_up.workload.burst(20)
        yield


NOT_THERE = frozenset({CheckName.VERBS, CheckName.CACHE})
NO_CACHE = frozenset({CheckName.CACHE, CheckName.WATCHER, CheckName.TABLE, CheckName.FILTER_VERB})

FAULTS: Sequence[Fault] = (
    Fault("berth-killed", killed(0), 5, named=NOT_THERE),
    Fault("both-berths-killed", killed(0, 1), 5, named=NOT_THERE),
    Fault("berth-frozen", frozen(0), 20),
    Fault("both-berths-frozen", frozen(0, 1), 12),
    Fault("scheduler-killed", _scheduler_killed, 4),
    Fault("scheduler-frozen", _scheduler_frozen, 10),
    Fault("all-killed", _all_killed, 3),
    Fault("api-server-frozen", server_frozen("kube-apiserver"), 10, 90),
    Fault("etcd-frozen", server_frozen("etcd"), 10, 90),
    Fault("tables-frozen", _tables_frozen, 10, 90),
    Fault("api-faults", _api_fails, 12, 90),
    Fault("api-away", _api_is_away, 10, 90),
    Fault("table-faults", _tables_fail, 12, 90),
    Fault("tables-throttled", _tables_throttled, 12, 90),
    Fault("answers-lost", _answers_are_lost, 12, 90),
    Fault("everything-fails", _everything_fails, 10, 90),
    Fault("watches-expired", _watches_expire, 6),
    Fault("head-lost", _head_lost, 10, 60, epoch=EPOCH),
    Fault("cache-emptied", _cache_emptied, 20, 90, epoch=EPOCH),
    Fault("cache-table-lost", _cache_table_lost, 8, 90, NO_CACHE, EPOCH),
    Fault("ledger-table-lost", _ledger_table_lost, 6, 120, epoch=EPOCH),
    Fault("both-tables-lost", _both_tables_lost, 6, 150, NO_CACHE, EPOCH),
    Fault("ledger-lost-after-cache", _ledger_lost_after_cache, 6, 150, epoch=EPOCH),
    Fault("cache-lost-after-ledger", _cache_lost_after_ledger, 6, 150, epoch=EPOCH),
    Fault("clock-ahead", clock(HOUR), 6, named=frozenset({CheckName.CLOCK})),
    Fault("clock-behind", clock(-HOUR), 6, named=frozenset({CheckName.CLOCK})),
    Fault("nodes-come-and-go", _nodes_come_and_go, 5),
    Fault("namespace-deleted", _namespace_deleted, 4),
    Fault("burst-of-two-schedulers", _burst, 6),
    Fault("owners-edit-annotations", _owners_edit, 15),
    Fault("pods-grow", _pods_grow, 10, 90, meanwhile=Checks.reduced_pods),
    Fault("lease-deleted", _lease_deleted, 15),
    Fault("another-store", _another_store, 10),
)
