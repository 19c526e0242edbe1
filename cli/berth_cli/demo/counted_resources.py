"""Scenario 4, managed-resources: the memory of three GPUs, which the scheduler ignores and Berth counts. The cluster
and pods are from examples/counted-resources. The pods are bound faster than the watcher publishes them, so only the
ledger contains the reserved amounts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from berth.ledger.nodes.entry import EntryState, NodeLedger
from berth.ledger.nodes.table import LedgerTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import LABEL_PRIORITY
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.configuration.document import load_configuration
from berth_cli.demo import view
from berth_cli.demo.extender import Extender, ExtenderFailed, Manifest, name_of
from berth_cli.demo.view import Occupants, write_dump
from berth_cli.sources.dump.admission import PriorityClasses
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.sources.dump.manifests import read_manifests
from berth_cli.terminal.input_files import PROJECT

EXAMPLE = PROJECT / "examples" / "counted-resources"
RESOURCE = "example.com/gpu-memory"

# The pods of this scenario set schedulerName, because one server has a profile for each scenario.
SCHEDULER = "gpu-scheduler"
PROFILES = {SCHEDULER: "managed-resources"}

TITLES = ("after inference-1 ended", "after the next pod is bound")
TIMEOUT_SECONDS = 20.0


def configuration(others: Mapping[str, str]) -> BerthConfiguration:
    """Return a configuration with the example's counted resources, gangs, and the profiles of the other scenarios."""
    example = load_configuration(EXAMPLE / "configuration.yaml", None)
    profiles = {"profile": LABEL_PRIORITY, "profiles": {**PROFILES, **others}}
    return example.model_copy(update={**profiles, "gangs": GangsConfiguration(enabled=True)})


def run(path: Path, extender: Extender, table: LedgerTable) -> None:
    """Run the scenario. `path`: the dump that the watcher reads. `table`: the server's ledger. Raises
    ExtenderFailed."""
    nodes: list[Manifest] = list(read_dump(EXAMPLE / "cluster.yaml"))
    stored: list[Manifest] = list(read_manifests([EXAMPLE / "pods.yaml"]).stored(PriorityClasses(())))
    pods = [{**pod, "spec": {**pod["spec"], "schedulerName": SCHEDULER}, "status": {}} for pod in stored]
    slices = [pod for pod in pods if not name_of(pod).startswith("solver")]
    names = [name_of(node) for node in nodes]
    write_dump(path, [*nodes, *slices])
    _wait(table, lambda found: found.keys() >= set(names))

    view.heading("GPUs of 8,000, 8,000 and 16,000 MiB: 11 pods of 3,000 MiB and one of 25 percent, in one burst")
    waiting = [pod for pod in slices if not _schedule(extender, pod, names)]
    view.success(
        f"{len(slices) - len(waiting)} pods run; the ledger knows the reserved amounts before the node cache does"
    )
    _wait(table, lambda found: all(map(_is_confirmed, found.values())))

    first, *others = slices
    write_dump(path, [*nodes, *others])
    _wait(table, lambda found: not any(first["metadata"]["uid"] in node.entries for node in found.values()))
    view.heading("inference-1 ends: its memory is enough for one pending pod")
    before = _device_shares(table)
    for pod in waiting:
        if _schedule(extender, pod, names):
            view.success(f"{name_of(pod)} runs")
    view.before_and_after(TITLES, before, _device_shares(table))


def _schedule(extender: Extender, pod: Manifest, names: Sequence[str]) -> bool:
    placement = extender.schedule(pod, names)
    if not placement.node:
        view.pending(f"{name_of(pod)} is Pending: {placement.event()}")
    return bool(placement.node)


def _is_confirmed(ledger: NodeLedger) -> bool:
    """Return whether the watcher has confirmed all reservations of the ledger."""
    return all(entry.state is EntryState.BOUND for entry in ledger.entries.values())


def _wait(table: LedgerTable, condition: Callable[[Mapping[str, NodeLedger]], bool]) -> None:
    """Wait until the condition holds for the ledgers by node. Raises ExtenderFailed after the timeout."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition({ledger.owner: ledger for ledger in table.nodes()}):
        if time.monotonic() > deadline:
            raise ExtenderFailed("the watcher does not update the ledger")
        time.sleep(0.05)


def _device_shares(table: LedgerTable) -> Occupants:
    """Return the reserved amounts in MiB by device."""
    found: dict[str, list[str]] = {}
    for ledger in table.nodes():
        for pool, size in sorted(ledger.capacity.items()):
            resource, _, index = pool.partition("#")
            if resource == RESOURCE:
                amounts = [entry.shares[pool] for entry in ledger.entries.values() if pool in entry.shares]
                found[f"{ledger.owner} GPU {index}, {size} MiB"] = [str(each) for each in sorted(amounts, reverse=True)]
    return found
