"""preempt: whether the policy can live with the victims the scheduler has chosen on each node.

When no node fits, the scheduler proposes evictions without having asked filter. So nodes where they would be for
nothing are left out here, and on nodes where the policy's own rules need more room, more victims are named: see
`scheduling/preemption/agreement.py` for what they can be. A policy that does not look at pods leaves victims as they
are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from berth.extender.outcomes import Failure, FailureOutcome, PreemptOutcome
from berth.extender.ports import CacheUnavailable, NodeCache
from berth.extender.preemption_arguments import PreemptionArguments, read_preemption_arguments
from berth.extender.reply import Reply, reply, silent_reply, status_reply
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.preemption.victim_review import PreemptResult, review_victims
from berth.scheduling.preemption.victims import Victims


def failed(failure: Failure) -> Reply:
    """There is no Error field: a status other than 200 is the only signal (fact 28)."""
    return status_reply(failure)


def empty_on_failure(failure: Failure) -> Reply:
    """Behind Basic credentials: no node can be preempted (fact 28)."""
    return silent_reply({"NodeNameToMetaVictims": {}}, failure)


def answer_preempt(body: str | bytes, cache: NodeCache, failed: Callable[[Failure], Reply] = failed) -> Reply:
    """The candidates that are left as MetaVictims, in both modes (fact 25)."""
    arguments = read_preemption_arguments(body)
    if isinstance(arguments, Failure):
        return failed(arguments)
    basis = cache.current()
    if isinstance(basis.cluster, CacheUnavailable):
        return _without_cache(arguments, basis.cluster, failed)
    found = basis.policy.review_victims(arguments.pod, arguments.proposals, basis.cluster)
    return _reply(arguments, found, PreemptOutcome.AGREED if found.victims else PreemptOutcome.NO_CANDIDATES)


def _without_cache(
    arguments: PreemptionArguments, cache: CacheUnavailable, failed: Callable[[Failure], Reply]
) -> Reply:
    """An eviction cannot be taken back, and a refused call is made again. But where filter lets every node pass, a
    refusal here would leave the pod waiting for room that filter has promised."""
    if cache.when_stale is WhenStale.PASS:
        found = review_victims(None, arguments.pod, arguments.proposals, {})
        return _reply(arguments, found, PreemptOutcome.PASSED, cache.reason)
    return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, cache.reason, arguments.pod_name))


def _reply(arguments: PreemptionArguments, found: PreemptResult, outcome: PreemptOutcome, why: str = "") -> Reply:
    asked = len(arguments.proposals) + len(arguments.unreadable)
    rejected = Counter([*arguments.unreadable.values(), *found.rejected.values()])
    told = [why, arguments.note, f"{len(found.victims)} of {asked} nodes with victims"]
    told += [f"{count} left out: {reason}" for reason, count in rejected.items()]
    return reply(_encode(found.victims), outcome, pod=arguments.pod_name, detail="; ".join(filter(None, told)))


def _encode(found: Mapping[str, Victims]) -> dict[str, object]:
    return {
        "NodeNameToMetaVictims": {
            node: {
                "Pods": [{"UID": pod.uid} for pod in victims.pods],
                "NumPDBViolations": victims.num_pdb_violations,
            }
            for node, victims in found.items()
        }
    }
