"""Builds the documents of `/api/pending` and `/api/explain` from the console's state, with the rules of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import orjson

from berth.configuration.store import ActiveConfiguration
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.access import Outcome, Refusal
from berth_cli.console.application import Document, Query
from berth_cli.console.cluster import ObservedCluster
from berth_cli.console.decisions import DecisionSource
from berth_cli.console.feed import Feed
from berth_cli.console.pending_reasons import Judgment, PendingJudge, in_state
from berth_cli.console.pending_target import pending_state, pending_target, recorded_cause
from berth_cli.explanation.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.report import document
from berth_cli.explanation.rules import Reason, Rules

JUDGE_SECONDS = 4.0
MAX_PODS = 2000
"""The maximum number of pods in the list. Other pods are only counted."""


class PendingDocuments:
    """Builds documents about pending pods for one request at a time: each may take some seconds of processor time."""

    def __init__(
        self,
        feed: Feed,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
        weight: int = 1,
        decisions: DecisionSource | None = None,
    ) -> None:
        """Prepare the documents. `monotonic`: returns seconds. `wall`: returns the seconds since the epoch. `weight`:
        the extender's weight in kube-scheduler's configuration. `decisions`: the records that show why a pod waits
        although it fits on a node."""
        self._feed, self._monotonic, self._wall, self._weight = feed, monotonic, wall, weight
        self._decisions = decisions
        self._lock = Lock()
        self._rules: tuple[ActiveConfiguration, Rules] | None = None
        self._judge = PendingJudge(monotonic)

    @property
    def by_path(self) -> Mapping[str, Document]:
        """The application's documents by path."""
        return {"/api/pending": self.pending, "/api/explain": self.explain}

    def pending(self, _: Query) -> bytes | Refusal:
        """Return all pending pods by reason. If the time was too short for some pods, the document is marked
        incomplete, and the next call evaluates more of them."""
        observed = self._feed.observed_or_refusal()
        if isinstance(observed, Refusal):
            return observed
        with self._lock:
            snapshot = observed.snapshot
            pods = _pending_pods(snapshot)
            states = [(pod, pending_state(pod, observed)) for pod in pods[:MAX_PODS]]
            judged, is_complete = self._judge.judge(states, snapshot, self._rules_of(observed), JUDGE_SECONDS)
            now, schedulers = self._wall(), {DEFAULT_SCHEDULER, *observed.configured.document.profiles}
            found = [
                (pod, in_state(judgment, state, now, schedulers, taken))
                for (_, state), (pod, judgment, taken) in zip(states, judged, strict=True)
            ]
        return orjson.dumps({**_document(found, len(pods), list(snapshot.nodes)), "isComplete": is_complete})

    def explain(self, query: Query) -> bytes | Refusal:
        """Return the output of `berth explain -o json` for a pod without a node, with changes that would place it."""
        observed = self._feed.observed_or_refusal()
        if isinstance(observed, Refusal):
            return observed
        namespace, slash, name = query.get("pod", "").partition("/")
        if not slash:
            return Refusal(400, Outcome.BAD_QUERY, "pod is not NAMESPACE/NAME")
        wanted = namespace, name
        unbound = observed.snapshot.unbound.values()
        pod = next((each for each in unbound if (each.namespace, each.name) == wanted), None)
        if pod is None:
            reason = f"pod {namespace}/{name} is not pending: it has a node or is gone"
            return Refusal(404, Outcome.UNKNOWN_PATH, reason)
        with self._lock:
            end, now = self._monotonic() + SEARCH_SECONDS, self._wall()
            target, rules = pending_target(pod, observed), self._rules_of(observed)
            records = () if self._decisions is None else self._decisions.of_pod(namespace, name)
            cause, weight = recorded_cause(target, records), self._weight
            try:
                found = explain_pod(
                    target, rules, weight=weight, now=now, is_over=lambda: self._monotonic() >= end, cause=cause
                )
            except PluginFailed as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        return orjson.dumps(document(found))

    def _rules_of(self, observed: ObservedCluster) -> Rules:
        if self._rules is None or self._rules[0] is not observed.configured:
            self._rules = observed.configured, Rules(observed.configured.document)
        return self._rules[1]


def _pending_pods(snapshot: Snapshot) -> list[Pod]:
    waiting = (pod for pod in snapshot.unbound.values() if not pod.terminating)
    return sorted(waiting, key=lambda pod: (pod.namespace, pod.name))


def _document(judged: Sequence[tuple[Pod, Judgment]], count: int, names: Sequence[str]) -> dict[str, object]:
    """Return a document with the reasons and the pods. A reason lists the nodes that it rejects for at least one pod,
    as indexes into `nodes`. A pod lists its reasons, as indexes into `reasons`."""
    nodes: dict[Reason, set[str]] = {}
    for _, judgment in judged:
        for key, rejected in judgment.reasons.items():
            nodes.setdefault(key, set()).update(rejected)
    positions = {name: position for position, name in enumerate(names)}
    keys = {key: position for position, key in enumerate(nodes)}
    return {
        "count": count,
        "nodes": names,
        "reasons": [
            {
                "by": key.by,
                "plugin": key.plugin,
                "reason": key.text,
                "code": key.code,
                "nodes": sorted(positions[name] for name in rejected),
            }
            for key, rejected in nodes.items()
        ],
        "pods": [
            {
                "namespace": pod.namespace,
                "name": pod.name,
                "gang": next(iter(gang_names(pod)), ""),
                "priority": pod.priority or 0,
                "category": judgment.category,
                "fitting": judgment.fitting,
                "note": judgment.note,
                "reasons": [keys[key] for key in judgment.reasons],
            }
            for pod, judgment in judged
        ],
    }
