"""`/api/pending` and `/api/explain`: answered from what the console has read, by the rules of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import orjson

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.decisions.source import DecisionSource
from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.console.pending.judgement import Judgement, PendingJudge, ReasonKey
from berth_cli.console.pending.target import pending_target, recorded_cause
from berth_cli.explain.explanation import explain_pod
from berth_cli.explain.report import document, headline, search_note
from berth_cli.explain.rules import Rules

PENDING = "/api/pending"
EXPLAIN = "/api/explain"
JUDGE_SECONDS = 4.0
SEARCH_SECONDS = 4.0
MOST_PODS = 2000
"""That are listed. The others are counted."""


class PendingDocuments:
    """One request at a time: each may take some seconds of a processor."""

    def __init__(
        self,
        feed: Feed,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
        weight: int = 1,
        decisions: DecisionSource | None = None,
    ) -> None:
        """`monotonic`: seconds. `wall`: seconds since the epoch. `weight`: of the extender in kube-scheduler's
        configuration. `decisions`: say why a pod waits that has a node."""
        self._feed, self._monotonic, self._wall, self._weight = feed, monotonic, wall, weight
        self._decisions = decisions
        self._lock = Lock()
        self._rules: tuple[ActiveConfiguration, Rules] | None = None
        self._judge = PendingJudge(monotonic)
        self._last: tuple[Snapshot, ActiveConfiguration, bytes] | None = None

    @property
    def by_path(self) -> dict[str, Document]:
        """For the application."""
        return {PENDING: self.pending, EXPLAIN: self.explain}

    def pending(self, _: Query) -> bytes | Refusal:
        """All pending pods by reason. Where it is not complete, there was no time for some: whoever asks again gets
        more."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        with self._lock:
            last = self._last
            if last is not None and last[0] is observed.snapshot and last[1] is observed.configured:
                return last[2]
            pods, snapshot = _pending_pods(observed.snapshot), observed.snapshot
            judged, left = self._judge.judge(pods[:MOST_PODS], snapshot, self._rules_of(observed), JUDGE_SECONDS)
            found = orjson.dumps({**_document(judged, len(pods), list(snapshot.nodes)), "isComplete": not left})
            self._last = None if left else (snapshot, observed.configured, found)
            return found

    def explain(self, query: Query) -> bytes | Refusal:
        """One pending pod, with what would place it: what `berth explain -o json` prints, its headline, and
        `searchNote`: why there are no changes, or may be others; empty where there is nothing to say."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        namespace, slash, name = query.get("pod", "").partition("/")
        if not slash:
            return Refusal(400, Outcome.BAD_QUERY, "pod is not NAMESPACE/NAME")
        wanted = namespace, name
        pod = next((each for each in _pending_pods(observed.snapshot) if (each.namespace, each.name) == wanted), None)
        if pod is None:
            return Refusal(
                404, Outcome.UNKNOWN_PATH, f"pod {namespace}/{name} is not pending: it has a node or is gone"
            )
        with self._lock:
            end, now = self._monotonic() + SEARCH_SECONDS, self._wall()
            target, rules = pending_target(pod, observed.snapshot), self._rules_of(observed)
            records = () if self._decisions is None else self._decisions.of_pod(namespace, name)
            cause, weight = recorded_cause(target, records), self._weight
            try:
                found = explain_pod(
                    target, rules, weight=weight, now=now, is_over=lambda: self._monotonic() >= end, cause=cause
                )
            except PluginFailed as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        note = "" if found.search is None else search_note(found.search, SEARCH_SECONDS)
        return orjson.dumps(document(found) | {"headline": headline(found, now), "searchNote": note})

    def _rules_of(self, observed: ObservedCluster) -> Rules:
        if self._rules is None or self._rules[0] is not observed.configured:
            self._rules = observed.configured, Rules(observed.configured.document)
        return self._rules[1]


def _pending_pods(snapshot: Snapshot) -> list[Pod]:
    waiting = (pod for pod in snapshot.unbound.values() if not pod.terminating)
    return sorted(waiting, key=lambda pod: (pod.namespace, pod.name))


def _document(judged: Sequence[tuple[Pod, Judgement]], count: int, names: Sequence[str]) -> dict[str, object]:
    """reasons: each with the nodes that it rejects for any pod, as positions in `nodes`, and the number of these pods.
    pods: in columns; of each the positions of its reasons."""
    keys: dict[ReasonKey, int] = {}
    nodes: list[set[str]] = []
    pods: list[int] = []
    for _, judgement in judged:
        for key, rejected in judgement.reasons.items():
            at = keys.setdefault(key, len(keys))
            if at == len(nodes):
                nodes.append(set())
                pods.append(0)
            nodes[at].update(rejected)
            pods[at] += 1
    positions = {name: position for position, name in enumerate(names)}
    return {
        "count": count,
        "nodes": names,
        "reasons": [
            {
                "by": key.by,
                "plugin": key.plugin,
                "reason": key.reason,
                "code": key.code,
                "pods": pods[at],
                "nodes": sorted(positions[name] for name in nodes[at]),
            }
            for key, at in keys.items()
        ],
        "pods": {
            "namespace": [pod.namespace for pod, _ in judged],
            "name": [pod.name for pod, _ in judged],
            "gang": [next(iter(gang_names(pod)), "") for pod, _ in judged],
            "priority": [pod.priority or 0 for pod, _ in judged],
            "category": [judgement.category for _, judgement in judged],
            "fitting": [judgement.fitting for _, judgement in judged],
            "note": [judgement.note for _, judgement in judged],
            "reasons": [[keys[key] for key in judgement.reasons] for _, judgement in judged],
        },
    }
