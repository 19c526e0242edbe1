"""Which members of a gang live: a pod joins a committed gang alone only if one of it does, and a commit takes no gang
of which fewer than the minimum do.

The API server says it, a GET for each pod. The node cache says which pods to ask for, and which not: one that is being
deleted stays so. That a pod is not in the cache proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum, auto

from berth.bind.gang.member import GangMember
from berth.ledger.gangs.item import GangItem, GangState, Intent
from berth.pods import FoundPod, Refused, Unanswered
from berth.scheduling.gangs.members import lives
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import FAILED, SUCCEEDED

MOST_GETS = 8
"""Of one call. All members of a gang that was created again ask, so without a limit they made n² requests. If more
would be needed, the watcher counts: it forgets a gang of which no member lives."""

NOT_FOUND = 404

Get = Callable[[str], FoundPod | Refused | Unanswered]
"""The pod of this name, in the gang's namespace."""


class MemberLiveness(Enum):
    """UNKNOWN: the API server did not say it, or too many would have to be asked for."""

    LIVES = auto()
    NONE_LIVES = auto()
    UNKNOWN = auto()


def liveness_for(member: GangMember, item: GangItem | None) -> MemberLiveness:
    """Of the gang of a member that is being bound. Where the item of its commit is gone, members on nodes are the proof
    of it."""

    return liveness_of(member.binding.pod_uid, _committed(item), member.of.pods, get_for(member))


def get_for(member: GangMember) -> Get:
    """The GET of a call: it takes at most half of the time that is left."""

    def get(name: str) -> FoundPod | Refused | Unanswered:
        return member.binder.pod(member.of.gang.key.namespace, name, member.deadline.remaining() / 2)

    return get


def is_in_domain(member: GangMember, item: GangItem | None) -> bool:
    """Whether the node is in the topology domain of the member's gang, which is committed."""
    topologies = {intent.topology for intent in _committed(item)} | member.of.domains
    return not member.of.gang.topology_key or member.of.topology in topologies


def _committed(item: GangItem | None) -> Collection[Intent]:
    return item.intents.values() if item is not None and item.state is GangState.COMMITTED else ()


def liveness_of(uid: str, committed: Iterable[Intent], pods: Mapping[str, Pod], get: Get) -> MemberLiveness:
    """Of a gang. uid: of the pod that is being bound; it lives. committed: the members of the commit. pods: as the node
    cache has them, by UID."""
    intents = {intent.pod.uid: intent.pod.name for intent in committed}
    if uid in intents:
        return MemberLiveness.LIVES
    asked = list(_to_ask(intents, pods))
    for name, wanted in asked[:MOST_GETS]:
        lives_there = _lives(get(name), wanted)
        if lives_there is None:
            return MemberLiveness.UNKNOWN
        if lives_there:
            return MemberLiveness.LIVES
    return MemberLiveness.UNKNOWN if len(asked) > MOST_GETS else MemberLiveness.NONE_LIVES


def lost_of(waiting: Iterable[Intent], pods: Mapping[str, Pod], get: Get) -> int:
    """How many of these members, which wait in bind, are gone or end. pods: as the node cache has them now, by UID.

    Those that it lacks are asked for: it may not have them yet. Where too many are, or the API server does not say it
    of one, none of these counts as lost.
    """
    cached = [(intent, pods.get(intent.pod.uid)) for intent in waiting]
    ending = sum(pod is not None and not lives(pod) for _, pod in cached)
    unknown = [intent.pod for intent, pod in cached if pod is None]
    gone = 0
    for pod in unknown if len(unknown) <= MOST_GETS else ():
        lives_there = _lives(get(pod.name), pod.uid)
        if lives_there is None:
            return ending
        gone += not lives_there
    return ending + gone


def _lives(answer: FoundPod | Refused | Unanswered, uid: str) -> bool | None:
    """Whether this pod lives; None: the API server did not say it."""
    match answer:
        case FoundPod() as found:
            return found.assignment.pod_uid == uid and not found.is_deleting and not _has_ended(found)
        case Refused(status=status) if status == NOT_FOUND:
            return False
        case Refused() | Unanswered():
            return None


def _to_ask(intents: Mapping[str, str], pods: Mapping[str, Pod]) -> Iterator[tuple[str, str]]:
    """Names and UIDs, the likeliest first: on a node, in the cache, and not there."""
    living = [pod for pod in pods.values() if lives(pod)]
    yield from ((pod.name, pod.uid) for pod in living if pod.node_name)
    yield from ((pod.name, pod.uid) for pod in living if pod.uid in intents and not pod.node_name)
    yield from ((name, uid) for uid, name in intents.items() if uid not in pods)


def _has_ended(found: FoundPod) -> bool:
    status = found.content.get("status")
    return isinstance(status, Mapping) and status.get("phase") in (SUCCEEDED, FAILED)
