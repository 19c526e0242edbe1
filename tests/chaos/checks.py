"""Checks after every fault. Each check returns the reasons why it does not hold (yet)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from time import sleep

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import PODS
from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import EntryState, NodeLedger
from berth.ledger.nodes.table import MarkerState
from berth.nodecache.feed.changes import LABELS, LEFT_OUT, Change, Key, Object, pack
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished, View
from berth.scheduling.configuration.document import BerthConfiguration
from berth.upkeep.pod_events import PodEventReason
from berth_cli.configuration.document import load_configuration
from berth_cli.installation.doctor.findings import CheckName
from berth_cli.server.options import CACHE_TABLE
from tests.chaos.cluster_model import (
    GANG_SIZE,
    LINK,
    NODES,
    SEAT,
    ZONE,
    PodOnAccount,
    capacity_of,
    held,
    overcommitted,
    pod_on_account,
    teams_on,
    zone_of,
)
from tests.chaos.set_up import SetUp
from tests.e2e.berth.doctor import Diagnosis, doctor_in_process

MOST_SHOWN = 3


class CheckKind(StrEnum):
    """The checks in their order. SET_UP: whether the round could run at all."""

    SET_UP = "set-up"
    PLACED = "placed"
    NOT_OVERCOMMITTED = "not-overcommitted"
    CACHE = "cache"
    LEDGER = "ledger"
    DOCTOR = "doctor"


@dataclass(frozen=True)
class Finding:
    check: CheckKind
    message: str


class _Objects(View[dict[Key, Object]]):
    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        found = dict(state)
        for change in changes:
            if change.object is None:
                found.pop((change.resource, change.key), None)
            else:
                found[change.resource, change.key] = change.object
        return found


class Checks:
    def __init__(self, set_up: SetUp) -> None:
        self._set_up = set_up
        configuration: BerthConfiguration = load_configuration(set_up.configuration, None)
        self._required = RequiredFields.of(configuration.policy())
        self._doctor_options = (
            f"--kubeconfig={set_up.kubeconfig()}",
            f"--config={set_up.configuration}",
            "--timeout=5",
        )

    def state(self) -> list[Finding]:
        """Return findings about API server and tables. Only Berth may change them while they are read."""
        pods = [
            self._set_up.witness.as_bound(pod_on_account(each))
            for each in self._set_up.api.get("/api/v1/pods")["items"]
            if each["metadata"]["name"] != "pulse"
        ]
        found = [Finding(CheckKind.PLACED, message) for message in unplaced(pods)]
        found += [
            Finding(CheckKind.NOT_OVERCOMMITTED, f"{owner}: {message}")
            for owner, message in overcommitted(pods).items()
        ]
        found += [Finding(CheckKind.CACHE, message) for message in self._cache()]
        found += [Finding(CheckKind.LEDGER, message) for message in self._ledger(pods)]
        return found

    def reduced_pods(self) -> list[Finding]:
        """Return findings about pods that are too large for the cache: their publication, reservations and events."""
        pods = self._set_up.api.get("/api/v1/pods")["items"]
        project = projections(self._required)[PODS]
        too_large = [each for each in pods if _is_too_large(project(each))]
        try:
            published = self._published()
            ledgers = self._set_up.ledger.nodes()
        except (NothingPublished, TableUnavailable) as error:
            return [Finding(CheckKind.CACHE, str(error))]
        warned = {
            each["regarding"].get("uid")
            for each in self._set_up.api.get("/apis/events.k8s.io/v1/events")["items"]
            if each["reason"] == PodEventReason.POD_REDUCED
        }
        entries = recorded_ledger(ledgers)
        found = [] if too_large else [Finding(CheckKind.SET_UP, "no pod is too large for the cache")]
        for each in too_large:
            pod = self._set_up.witness.as_bound(pod_on_account(each))
            left_out = published.get(("pods", pod.key), {}).get(LEFT_OUT)
            if left_out != [LABELS]:
                found.append(Finding(CheckKind.CACHE, f"{pod.key} is published with {LEFT_OUT} {left_out}"))
            for owner, shares in pod.shares(pod.node).items():
                entry = entries.get(f"{owner}: {pod.key}")
                if entry != _entry(shares, EntryState.BOUND):
                    found.append(Finding(CheckKind.LEDGER, f"{pod.key} is too large, and {owner} has {entry}"))
            if pod.uid not in warned:
                found.append(Finding(CheckKind.CACHE, f"{pod.key} has no event {PodEventReason.POD_REDUCED}"))
        return found

    def witnessed(self) -> list[Finding]:
        """Return the violations, since the previous call, of rules that must not be violated even for a moment."""
        return [Finding(CheckKind.NOT_OVERCOMMITTED, message) for message in self._set_up.witness.violations()]

    def doctor(self) -> Diagnosis:
        """Return the findings of `berth doctor` about the first scheduler and its Berth."""
        scheduler, berth = self._set_up.schedulers[0], self._set_up.berths[0]
        environment = self._set_up.emulator.environment()
        return doctor_in_process(
            *self._doctor_options,
            f"--url={berth.url_prefix}",
            f"--scheduler-config={scheduler.file}",
            environment=environment,
        )

    def _published(self) -> dict[Key, Object]:
        table = DynamoDBCacheTable(self._set_up.tables, CACHE_TABLE)
        return NodeCacheReader(table, _Objects(), sleep).at(table.head())

    def _cache(self) -> list[str]:
        try:
            published = self._published()
        except (NothingPublished, TableUnavailable) as error:
            return [str(error)]
        return differences("object", self._truth(), {"/".join(key): _json(each) for key, each in published.items()})

    def _truth(self) -> Mapping[str, object]:
        projected = projections(self._required)
        found = {}
        # Annotations name the gangs here: the cluster does not serve PodGroups, or does not have any.
        for resource in (each for each in projected if not each.is_optional):
            for each in self._set_up.api.get(resource.path)["items"]:
                metadata = each["metadata"]
                namespace = metadata.get("namespace")
                key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
                found[f"{resource.name}/{key}"] = _json(projected[resource](each))
        return found

    def _ledger(self, pods: Sequence[PodOnAccount]) -> list[str]:
        table = self._set_up.ledger
        try:
            marker, opened, ledgers = table.marker(), table.open_reservations(), table.nodes()
        except TableUnavailable as error:
            return [str(error)]
        found = []
        if marker is None or marker.state is not MarkerState.READY:
            found.append(f"the table says of itself: {'nothing' if marker is None else marker.state}")
        found += [f"the bind of {each.pod.name} on {each.node} is still open" for each in opened]
        nodes = {each["metadata"]["name"] for each in self._set_up.api.get("/api/v1/nodes")["items"]}
        return found + differences("on", expected_ledger(pods, nodes), recorded_ledger(ledgers))


def _is_too_large(pod: Object) -> bool:
    """Return whether an item of the cache is too small for this whole projected pod."""
    return bool(pack([Change("pods", "pod", pod)]).omissions)


def unplaced(pods: Sequence[PodOnAccount]) -> list[str]:
    """Return the pods that wait although there is room, or with a false reason."""
    on = held(pods)
    found = []
    for pod in pods:
        if pod.node:
            continue
        gang = [each for each in pods if pod.gang and (each.namespace, each.gang) == (pod.namespace, pod.gang)]
        # Without a member on a node, the members are bound together or not at all.
        waits_for = [] if any(each.node for each in gang) else gang
        fitting = [
            name for name in NODES if pod.fits(name, on, len(waits_for) or 1) and not teams_on(pods, name)[pod.team]
        ]
        if fitting and not 0 < len(waits_for) < GANG_SIZE:
            found.append(f"{pod.key} waits, and fits on {fitting[0]}: {pod.message or 'it has no reason'}")
        elif not any(reason in pod.message for reason in _reasons(pod, len(waits_for))):
            found.append(f"{pod.key} waits for another reason than that nothing is left: {pod.message or 'none'}")
    return found


def _reasons(pod: PodOnAccount, waiting: int) -> Iterator[str]:
    """Yield the possible reasons why the pod waits. waiting: the members of its gang, if none is on a node."""
    if waiting:
        yield "gang waits for members" if waiting < GANG_SIZE else "gang waits for a floating resource"
        return
    for resource in pod.request:
        yield f"Insufficient {resource}"
    if pod.team:
        yield "node(s) didn't match pod anti-affinity rules"


def differences(what: str, truth: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    lines = []
    for key in sorted({*truth, *found}):
        if key not in found:
            lines.append(f"{what} {key} is missing")
        elif key not in truth:
            lines.append(f"{what} {key} is not in the cluster")
        elif truth[key] != found[key]:
            lines.append(f"{what} {key}: there is {found[key]}, not {truth[key]}")
    return lines


def expected_ledger(pods: Sequence[PodOnAccount], nodes: Collection[str]) -> Mapping[str, object]:
    owners = {*nodes, f"{SEAT}@cluster", *(f"{LINK}@{ZONE}={zone_of(name)}" for name in nodes)}
    # A namespace's pool exists while one of its pods requests the resource.
    owners |= {f"{SEAT}@namespace={pod.namespace}" for pod in pods if SEAT in pod.request}
    found: dict[str, object] = {}
    on = held(pods)
    for owner in owners:
        for pool, most in capacity_of(owner).items():
            left = most - on.get(owner, {}).get(pool, 0)
            found |= _pool(owner, pool, most, max(0, left), max(0, -left))
    for pod in pods:
        for owner, shares in pod.shares(pod.node).items() if pod.node in nodes else ():
            found[f"{owner}: {pod.key}"] = _entry(shares, EntryState.BOUND)
    return found


def recorded_ledger(ledgers: Iterable[NodeLedger]) -> Mapping[str, object]:
    """Return the actual ledger in the format of `expected_ledger`."""
    found: dict[str, object] = {}
    for ledger in ledgers:
        avail = ledger.avail or {}
        for pool, most in ledger.capacity.items():
            found |= _pool(ledger.owner, pool, most, avail.get(pool, 0), ledger.owed.get(pool, 0))
        if ledger.avail is None:
            found[f"{ledger.owner}: rebuild"] = "under way"
        for entry in ledger.entries.values():
            found[f"{ledger.owner}: {entry.pod.namespace}/{entry.pod.name}"] = _entry(entry.shares, entry.state)
    return found


def _pool(node: str, pool: str, capacity: int, avail: int, owed: int) -> Mapping[str, object]:
    return {f"{node}: {pool}": f"{avail} left of {capacity}, {owed} owed"}


def _entry(shares: Mapping[str, int], state: EntryState) -> str:
    return f"{', '.join(f'{amount} {pool}' for pool, amount in sorted(shares.items()))}, {state}"


def _json(found: object) -> object:
    return json.loads(json.dumps(found))


def shortened(findings: Sequence[Finding]) -> list[Finding]:
    """Return a few findings of each check, and the number of the others."""
    shown: list[Finding] = []
    counts = Counter(each.check for each in findings)
    for check, count in counts.items():
        some = [each for each in findings if each.check is check][:MOST_SHOWN]
        shown += some
        if count > MOST_SHOWN:
            shown.append(Finding(check, f"and {count - MOST_SHOWN} more"))
    return shown


def names(diagnosis: Diagnosis, expected: frozenset[CheckName]) -> bool:
    """Return whether one of the expected checks failed."""
    return bool(expected & set(diagnosis.bad))
