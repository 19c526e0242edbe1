"""A trial of a configuration before it is applied: whether this function can load it, and which decisions would change.

`berth config apply` sends the event to each verb's function. The document does not take effect, and callers of the HTTP
API cannot send the event (see events.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from berth import __version__
from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid, parsed
from berth.extender.ports import CacheUnavailable, NodeCache
from berth.scheduling.policy_comparison import Comparison, Judgment, PolicyFailed, compare_policies, recent_pods
from berth.scheduling.snapshot.parts import NODES_AND_PODS, Parts

COMPARISON_SECONDS = 3.0
"""Seconds after which the trial does not evaluate further pods. The function's own timeout is longer."""
MAX_REASONS = 3

TrialCache = Callable[[Parts], NodeCache]
"""Returns the node cache for one trial of a configuration that reads these parts."""


def try_configuration(
    document: object, cache: TrialCache | None, monotonic: Callable[[], float] = time.monotonic
) -> Mapping[str, object]:
    """Return a report on the document, which is JSON; it has an `error` if the document must not take effect. cache:
    None if the function does not have a node cache; then the document is only loaded."""
    report: dict[str, object] = {"berthVersion": __version__, "error": ""}
    try:
        configured = ActiveConfiguration.of(parsed(str(document), "the document"))
        report["pluginVersion"] = configured.plugin_version
        return report if cache is None else {**report, **_judged(configured, cache, monotonic)}
    except (ConfigurationInvalid, PolicyFailed) as error:
        return report | {"error": str(error)}


def _judged(configured: ActiveConfiguration, cache: TrialCache, monotonic: Callable[[], float]) -> Mapping[str, object]:
    # The trial also needs NODES_AND_PODS, from which it takes the pods that it evaluates.
    reads = NODES_AND_PODS | configured.policy.reads
    current = cache(reads).current(reads=reads)
    if isinstance(current.cluster, CacheUnavailable):
        return {"notJudged": current.cluster.reason}
    new, old = configured.policy.counting, current.policy.counting
    if missing := new.node_annotations - old.node_annotations | new.pod_annotations - old.pod_annotations:
        # Without these annotations, the trial would reject every node for every pod.
        return {"notJudged": f"the node cache has {', '.join(sorted(missing))} only once the document is applied"}
    end = monotonic() + COMPARISON_SECONDS
    pods = recent_pods(current.cluster)
    return _comparison(
        compare_policies(current.policy, configured.policy, current.cluster, pods, lambda: monotonic() >= end)
    )


def _comparison(found: Comparison) -> Mapping[str, object]:
    return {
        "judged": found.judged,
        "pending": found.pending,
        "nodes": found.nodes,
        "fitting": {"before": found.fitting_before, "after": found.fitting_after},
        "changes": [
            {
                "pod": each.pod,
                "node": each.node,
                "before": _judgment(each.before),
                "after": _judgment(each.after),
                "lost": len(each.before.feasible - each.after.feasible),
                "gained": len(each.after.feasible - each.before.feasible),
            }
            for each in found.changes
        ],
    }


def _judgment(judgment: Judgment) -> Mapping[str, object]:
    reasons = sorted(judgment.rejections.items(), key=lambda item: (-item[1], item[0]))[:MAX_REASONS]
    return {"nodes": len(judgment.feasible), "best": judgment.best, "reasons": dict(reasons)}
