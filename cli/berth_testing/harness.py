"""Runs one plugin as Berth runs it: through the profile, the evaluation and the checks around custom plugins."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import date
from functools import cache
from types import FrameType
from typing import Self

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.local_scores import plugin_scores
from berth.scheduling.framework.plugin import SUCCESS, ClusterScorePlugin, Plugin, ScorePlugin, Status
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.shipped_profiles import build
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.custom_plugins import arguments_of, built_plugin, checked_plugin
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_testing.builders import cluster

_IO_EVENTS = ("open", "socket.", "subprocess.", "os.", "shutil.", "urllib.", "http.", "ftplib.", "smtplib.", "sqlite3.")
_COUNTERS = {"time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"}
_CLOCKS = {*_COUNTERS, *(f"{each}_ns" for each in _COUNTERS), "gmtime", "localtime", "ctime", "asctime", "strftime"}
_DATES = {"now", "utcnow", "today"}
_RANDOM = {"urandom", "getrandom"}

_watching: list[set[str]] = []


@cache
def _install_audit_hook() -> None:
    """Install the hook, once: it cannot be removed."""
    sys.addaudithook(_audit)


@contextmanager
def side_effects() -> Iterator[set[str]]:
    """Collect the names of I/O, clocks and random numbers that this thread uses in the block. Import modules first."""
    _install_audit_hook()
    found: set[str] = set()
    before = sys.getprofile()
    _watching.append(found)
    sys.setprofile(_profile)
    try:
        yield found
    finally:
        sys.setprofile(before if callable(before) else None)  # cProfile's hook cannot be set again
        _watching.remove(found)


def _audit(event: str, args: object) -> None:
    if _watching and event.startswith(_IO_EVENTS):
        _watching[-1].add(event)


def _profile(frame: FrameType, event: str, called: object) -> None:
    if event == "c_call" and _watching and (name := _clock_or_random(called)):
        _watching[-1].add(name)


def _clock_or_random(called: object) -> str:
    """Return a name such as `time.monotonic`, `datetime.now`, `random.random`; empty for other functions."""
    name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
    module = getattr(called, "__module__", None)
    if module == "time" and name in _CLOCKS:
        return f"time.{name}"
    if isinstance(owner, type) and issubclass(owner, date) and name in _DATES:
        return f"{owner.__name__}.{name}"
    if isinstance(owner, random.Random) and name in ("random", "getrandbits"):
        return f"random.{name}"
    return f"os.{name}" if module == "posix" and name in _RANDOM else ""


Judgment = Mapping[str, tuple[object, ...]]
"""A plugin's verdicts on a pod, by node: code, reasons, and the score before normalization; None without a score."""


class PluginHarness:
    """Runs a plugin on a cluster. Every method raises PluginFailed if the plugin raises an exception or returns a wrong
    type."""

    def __init__(self, plugin: Plugin, snapshot: Snapshot, create: Callable[[], Plugin] | None = None) -> None:
        """Prepare the plugin. plugin: with the checks of `checked_plugin`. create: makes another instance, for
        `check_plugin`."""
        self.plugin, self.snapshot = plugin, snapshot
        self.create = create or (lambda: plugin)
        self._profile: Profile = build("harness", Scale.TOTALS, [(plugin, 1)])

    @classmethod
    def of(
        cls,
        plugin: type[Plugin],
        nodes: Iterable[NodeInfo],
        pods: Iterable[Pod] = (),
        args: Mapping[str, object] | None = None,
    ) -> Self:
        """Make a harness for a plugin class. pods: the pods on the nodes. args: arguments as in the configuration."""
        path = f"{plugin.__module__}:{plugin.__qualname__}"
        checked, arguments = checked_plugin(plugin, path), arguments_of(plugin, path).model_validate(args or {})

        def create() -> Plugin:
            return built_plugin(path, checked, arguments)

        return cls(create(), cluster(nodes, pods), create)

    def filter(self, pod: Pod) -> dict[str, str]:
        """Return the reason for each node; empty if the pod may run there."""
        return {
            name: "" if status is SUCCESS else status.message or status.code.value
            for name, status in self.statuses(pod).items()
        }

    def scores(self, pod: Pod) -> dict[str, int]:
        """Return the normalized scores of the nodes that the pod may run on."""
        names = _feasible(self.statuses(pod))
        found = self._evaluation(pod).totals(pod, NodeRefs.of(names, self.snapshot.positions))
        return {} if isinstance(found, Status) else dict(zip(names, found, strict=True))

    def statuses(self, pod: Pod) -> dict[str, Status]:
        evaluation = self._evaluation(pod)
        return {name: evaluation.statuses[name] for name in self.snapshot.nodes}

    def judgment(self, pod: Pod) -> Judgment:
        statuses = self.statuses(pod)
        raw: dict[str, int] = {}
        if isinstance(self.plugin, ScorePlugin | ClusterScorePlugin):
            nodes = NodeRefs.of(_feasible(statuses), self.snapshot.positions)
            found = plugin_scores(self.plugin, pod, self.snapshot, nodes, Scale.AS_IS)
            raw = {} if isinstance(found, Status) else dict(zip(nodes, found, strict=True))
        return {name: (status.code, status.reasons, raw.get(name)) for name, status in statuses.items()}

    def at(self, snapshot: Snapshot) -> PluginHarness:
        found = copy(self)
        found.snapshot = snapshot
        return found

    def _evaluation(self, pod: Pod) -> Evaluation:
        local = LocalEvaluation.of(self._profile, pod, self.snapshot)
        return Evaluation.of(self._profile, pod, self.snapshot, local)


def _feasible(statuses: Mapping[str, Status]) -> list[str]:
    return [name for name, status in statuses.items() if status is SUCCESS]
