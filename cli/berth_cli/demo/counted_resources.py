"""The third story: slices of three GPUs, which the scheduler ignores and Berth counts.

The cluster and its pods are those of examples/counted-resources. A burst is bound faster than the watcher publishes:
what is taken is known by the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import boto3

from berth.reservations.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.entry import EntryState
from berth.reservations.node_ledger import NodeLedger
from berth.scheduling.configuration import BerthConfiguration
from berth.scheduling.objects.reading import Object, an_object
from berth.scheduling.profiles import LABEL_PRIORITY
from berth_cli.config.document import load_configuration
from berth_cli.demo.cluster_dump import write_dump
from berth_cli.demo.extender_client import ExtenderClient, ExtenderFailed
from berth_cli.demo.scheduler import PendingPod, Scheduler
from berth_cli.demo.view import View
from berth_cli.project_files import PROJECT
from berth_cli.serve.embedded_dynamodb import LEDGER_TABLE
from berth_cli.simulate.admission import PriorityClasses
from berth_cli.simulate.documents import contents, objects
from berth_cli.simulate.manifests import read_manifests

EXAMPLE = PROJECT / "examples" / "counted-resources"
RESOURCE = "example.com/gpu-memory"

# The pods of this story name a scheduler of their own: one server has a profile for each story.
SCHEDULER = "gpu-scheduler"
PROFILES = {SCHEDULER: "managed-resources"}

TITLES = ("inference-1 has ended", "one that waited has its slice")
PATIENCE_SECONDS = 20.0

Occupants = Mapping[str, Sequence[str]]


def configuration(others: Mapping[str, str]) -> BerthConfiguration:
    """What the example counts, and the profiles of the other stories, by scheduler."""
    example = load_configuration(EXAMPLE / "configuration.yaml", None)
    return example.model_copy(update={"profile": LABEL_PRIORITY, "profiles": {**PROFILES, **others}})


def play(path: Path, client: ExtenderClient, view: View) -> None:
    """`path`: the dump that the watcher follows. Raises ExtenderFailed."""
    nodes = list(objects(contents(EXAMPLE / "cluster.yaml"), "the example"))
    pods = [_pending(pod) for pod in read_manifests([EXAMPLE / "pods.yaml"]).stored(PriorityClasses(()))]
    slices = [pod for pod in pods if not pod.name.startswith("solver")]
    names = [str(an_object(node["metadata"], "Node.metadata")["name"]) for node in nodes]
    ledger, scheduler = _Ledger(), Scheduler(client)
    write_dump(path, [*nodes, *(pod.manifest for pod in slices)])
    ledger.wait(lambda found: found.keys() >= set(names))

    view.scene("GPUs of 8,000, 8,000 and 16,000 MiB: 11 pods for 3,000 MiB each and one for 25 per cent, in one burst")
    waiting = [pod for pod in slices if not _placed(scheduler, pod, names, view)]
    view.good(f"{len(slices) - len(waiting)} pods run; what is taken, the ledger knows before the cache does")
    ledger.wait(lambda found: all(map(_is_confirmed, found.values())))

    first, *others = slices
    write_dump(path, [*nodes, *(pod.manifest for pod in others)])
    ledger.wait(lambda found: not any(first.uid in node.entries for node in found.values()))
    view.scene("inference-1 ends: there is room for one of those that wait, and for no other")
    before = ledger.slices()
    for pod in waiting:
        if _placed(scheduler, pod, names, view):
            view.good(f"{pod.name} runs")
    view.before_and_after(TITLES, before, ledger.slices())


def _placed(scheduler: Scheduler, pod: PendingPod, names: Sequence[str], view: View) -> bool:
    placement = scheduler.schedule(pod, names)
    if not placement.node:
        view.bad(f"{pod.name} is Pending: {placement.event()}")
    return bool(placement.node)


def _pending(stored: Object) -> PendingPod:
    metadata, spec = an_object(stored["metadata"], "Pod.metadata"), an_object(stored["spec"], "Pod.spec")
    manifest = {**stored, "spec": {**spec, "schedulerName": SCHEDULER}, "status": {}}
    return PendingPod(str(metadata["name"]), str(metadata["namespace"]), str(metadata["uid"]), manifest)


def _is_confirmed(ledger: NodeLedger) -> bool:
    """Whether the watcher has seen all of its pods there."""
    return all(entry.state is EntryState.BOUND for entry in ledger.entries.values())


class _Ledger:
    """The embedded table, as an operator would look into it."""

    def __init__(self) -> None:
        self._table = DynamoDBLedgerTable(boto3.client("dynamodb"), LEDGER_TABLE)

    def wait(self, condition: Callable[[Mapping[str, NodeLedger]], bool]) -> None:
        """Until it is so. Raises ExtenderFailed."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition({ledger.node: ledger for ledger in self._table.nodes()}):
            if time.monotonic() > until:
                raise ExtenderFailed("the watcher does not bring the ledger up to date")
            time.sleep(0.05)

    def slices(self) -> Occupants:
        """By device, the amounts that pods have of it, in MiB."""
        found: dict[str, list[str]] = {}
        for ledger in self._table.nodes():
            for pool, size in sorted(ledger.capacity.items()):
                resource, _, index = pool.partition("#")
                if resource == RESOURCE:
                    amounts = [entry.shares[pool] for entry in ledger.entries.values() if pool in entry.shares]
                    row = f"{ledger.node} GPU {index}, {size} MiB"
                    found[row] = [str(amount) for amount in sorted(amounts, reverse=True)]
        return found
