"""preempt: whether the policy can live with the victims the scheduler has chosen on each node.

A policy without an opinion on victims agrees to all of them, on the nodes where the pod could run once they are gone.
When no node fits, the scheduler proposes without having asked filter. So nodes that the policy bars for good are left
out here: evictions there would be for nothing. Nothing is invented: no node and no UID that the request does not have
(fact 26).
"""

from __future__ import annotations

from dataclasses import dataclass

from berth.extender.outcomes import Failure, FailureOutcome, PreemptOutcome, bad_request
from berth.extender.ports import CacheUnavailable, NodeCache
from berth.extender.reply import Reply, reply, status_reply
from berth.extender.wire import decode_object, folded
from berth.scheduling.freshness import WhenStale
from berth.scheduling.objects import Unreadable, read_pod

UNREADABLE_VICTIM = "a victim has no UID or is no pod; without it the others would be evicted for nothing"


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from one node, by UID, highest priority first, and the budgets that would break."""

    uids: tuple[str, ...]
    num_pdb_violations: int


def answer_preempt(body: str | bytes, cache: NodeCache) -> Reply:
    """The request's candidates as MetaVictims, in both modes (fact 25)."""
    arguments = decode_object(body)
    if isinstance(arguments, Failure):
        return failed(arguments)
    pod = read_pod(arguments.get("pod"))
    if isinstance(pod, Unreadable):
        return failed(bad_request(f"the request is not a preemption request: {pod.cause}"))
    candidates = _read_candidates(arguments)
    if isinstance(candidates, Failure):
        return failed(candidates)
    name = f"{pod.namespace}/{pod.name}"
    basis = cache.current()
    if isinstance(basis.cluster, CacheUnavailable):
        return _without_cache(candidates, basis.cluster, name)
    barred = basis.policy.barred(pod, candidates, basis.cluster)
    agreed = {node: victims for node, victims in candidates.items() if node not in barred}
    return reply(
        _encode(agreed),
        PreemptOutcome.AGREED if agreed else PreemptOutcome.NO_CANDIDATES,
        pod=name,
        detail=f"{len(agreed)} of {len(candidates)} nodes with victims",
    )


def failed(failure: Failure) -> Reply:
    """There is no Error field: a status other than 200 is the only signal (fact 28)."""
    return status_reply(failure)


def _without_cache(candidates: dict[str, Victims], cache: CacheUnavailable, pod: str) -> Reply:
    """An eviction cannot be taken back, and a refused call is made again. But where filter lets every node pass, a
    refusal here would leave the pod waiting for room that filter has promised."""
    if cache.when_stale is WhenStale.PASS:
        return reply(_encode(candidates), PreemptOutcome.PASSED, pod=pod, detail=cache.reason)
    return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, cache.reason, pod))


def _read_candidates(arguments: dict[str, object]) -> dict[str, Victims] | Failure:
    """Node name to victims. The full map is read where it is given: only there priorities are known."""
    full, meta = arguments.get("nodenametovictims"), arguments.get("nodenametometavictims")
    listed, read = (meta, _read_meta) if full is None else (full, _read_full)
    if listed is None:
        return bad_request("the request has no candidates: NodeNameToVictims and NodeNameToMetaVictims are null")
    if not isinstance(listed, dict):
        return bad_request("NodeNameToVictims or NodeNameToMetaVictims is not an object")
    candidates = {}
    for node, value in listed.items():
        victims = read(value)
        if isinstance(victims, Failure):
            return victims
        # An empty list is accepted and not sent back: today's scheduler takes it for an error (fact 27).
        if victims.uids:
            candidates[node] = victims
    return candidates


def _read_full(value: object) -> Victims | Failure:
    """`Victims`: whole pods. Sorted, because the scheduler takes the first for the highest priority (fact 29)."""
    fields = _victim_fields(value)
    if isinstance(fields, Failure):
        return fields
    pods, violations = fields
    victims = []
    for pod in map(read_pod, pods):
        if isinstance(pod, Unreadable) or not pod.uid:
            return bad_request(UNREADABLE_VICTIM)
        victims.append(pod)
    victims.sort(key=lambda victim: -(victim.priority or 0))
    return Victims(tuple(dict.fromkeys(victim.uid for victim in victims)), violations)


def _read_meta(value: object) -> Victims | Failure:
    """`MetaVictims`: UIDs alone, in the scheduler's order."""
    fields = _victim_fields(value)
    if isinstance(fields, Failure):
        return fields
    pods, violations = fields
    uids = []
    for pod in pods:
        uid = folded(pod).get("uid") if isinstance(pod, dict) else None
        if not isinstance(uid, str) or not uid:
            return bad_request(UNREADABLE_VICTIM)
        uids.append(uid)
    return Victims(tuple(dict.fromkeys(uids)), violations)


def _victim_fields(value: object) -> tuple[list[object], int] | Failure:
    """`Pods` and `NumPDBViolations` of a node; null stands for none (fact 26)."""
    if value is None:
        return [], 0
    if not isinstance(value, dict):
        return bad_request("the victims of a node are not an object")
    fields = folded(value)
    pods, violations = fields.get("pods"), fields.get("numpdbviolations")
    if not isinstance(pods, list | None):
        return bad_request("the Pods of a node's victims are not a list")
    if isinstance(violations, bool) or not isinstance(violations, int | None):
        return bad_request("NumPDBViolations is not an integer")
    return [pod for pod in pods or () if pod is not None], violations or 0


def _encode(candidates: dict[str, Victims]) -> dict[str, object]:
    return {
        "NodeNameToMetaVictims": {
            node: {
                "Pods": [{"UID": uid} for uid in victims.uids],
                "NumPDBViolations": victims.num_pdb_violations,
            }
            for node, victims in candidates.items()
        }
    }
