"""`/api/policy` and `/api/policy/diff`: the configuration in force, and where a second one would place pending pods.

Pods on nodes stay where they are: a node cache does not keep what only their own placement needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import orjson

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.output import to_yaml
from berth_cli.policy.diff.from_dump import place_by_both, schedulers_of
from berth_cli.policy.diff.policy_diff import PolicyDiff, headline, pods_text
from berth_cli.policy.diff.report import document
from berth_cli.simulate.queue import build_queue
from berth_cli.simulate.scheduler.control_loop import control_loop_of

POLICY = "/api/policy"
DIFF = "/api/policy/diff"
PLACE_SECONDS = 8.0
MOST_PODS = 500
"""That are placed. The headline names how many are left out."""


@dataclass(frozen=True, slots=True)
class SecondPolicy:
    """name: of its file, for people."""

    name: str
    configuration: BerthConfiguration


class PolicyDocuments:
    """One comparison at a time: it takes some seconds of a processor."""

    def __init__(
        self,
        feed: Feed,
        second: SecondPolicy | None,
        monotonic: Callable[[], float],
        recording: str = "",
        weight: int = 1,
    ) -> None:
        """`second`: None where none was given. `monotonic`: seconds. `recording`: the name of its file; empty for
        none. `weight`: of the extender in kube-scheduler's configuration."""
        self._feed, self._second, self._monotonic, self._recording = feed, second, monotonic, recording
        self._weight = weight
        self._lock = Lock()

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {POLICY: self.policy, DIFF: self.diff}

    def policy(self, _: Query) -> bytes | Refusal:
        """Both configurations as YAML, without their defaults."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        second = self._second
        return orjson.dumps(
            {
                "inForce": _yaml(observed.configured.document),
                "fallback": observed.configured.fallback,
                "second": None if second is None else {"name": second.name, "text": _yaml(second.configuration)},
                "recording": self._recording,
            }
        )

    def diff(self, _: Query) -> bytes | Refusal:
        """What `berth policy diff --pods pending -o json` prints, and how many pods are left out."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        if self._second is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, "there is no second policy; give --compare FILE")
        with self._lock:
            try:
                found, left = self._compared(observed, self._second)
            except PluginFailed as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        notes = [f"{left} more were not placed"] if left else []
        return orjson.dumps({**diff_document(found), "notes": notes})

    def _compared(self, observed: ObservedCluster, second: SecondPolicy) -> tuple[PolicyDiff, int]:
        """left: how many pending pods were not placed."""
        old, new, snapshot = observed.configured.document, second.configuration, observed.snapshot
        queue = build_queue(snapshot.unbound.values(), schedulers_of(old, new)).pods
        end = self._monotonic() + PLACE_SECONDS
        before, after = (control_loop_of(each, snapshot, weight=self._weight) for each in (old, new))
        comparison, judged = place_by_both(
            before, after, ((pod, pod) for pod in _first(queue)), lambda: self._monotonic() < end
        )
        return PolicyDiff(comparison, judged, f"{pods_text(judged)} pending"), len(queue) - judged


def _first(queue: Sequence[Pod]) -> Iterator[Pod]:
    """Those that are placed, and all members of their gangs: a gang that lacks some waits for them."""
    gangs = {(pod.namespace, name) for pod in queue[:MOST_PODS] for name in gang_names(pod)}
    for number, pod in enumerate(queue):
        if number < MOST_PODS or any((pod.namespace, name) in gangs for name in gang_names(pod)):
            yield pod


def diff_document(found: PolicyDiff) -> dict[str, object]:
    """A comparison as the page gets it: what `berth policy diff -o json` prints, its headline, and why each pod goes
    elsewhere."""
    messages = [each.message for each in found.changed]
    return {**document(found, ()), "headline": headline(found), "messages": messages}


def _yaml(configuration: BerthConfiguration) -> str:
    return to_yaml(configuration.model_dump_json(by_alias=True, exclude_defaults=True))
