"""The barrier of a gang: bind does not bind a member before all of the minimum are there.

Each call of bind, for a member of a gang:

1. Read the gang's item. If the gang is committed and a member of it lives, the pod is bound like any other, on a node
         of the gang's topology domain. So it is if the item is gone and a living member is on a node: before a commit
   no member gets there.
2. Open the contention domain for the gang, or find it open. While another gang is open, wait for its end, within
   bounds; then fail.
3. Announce the pod to rules about other pods, leave an open reservation, and write the intent into the gang's item.
   A member that waits for another gang is not announced: it keeps no pod of that away.
4. Wait. The call that finds the minimum, all of it in one topology domain and on existing nodes, commits for all
   (`GangCommit`). The others see it when they read the item again.
5. Send the Binding, which is bind's part.

A call gives up before its deadline: it takes its intent back, on the condition that the gang is still open. If the
gang is committed meanwhile, it goes on. An error of the table does not end a call whose intent may be in the item: it
reads again until its deadline.

Guarantees:
- Before the commit no Binding of a member is sent. So to give up, or to die, is always safe.
- A commit contains the minimum of members, each with its share of the ledger, and each by a call that had not given up.
  So all of them are bound, unless a call dies, or the table does not answer it until its deadline.
- A commit contains no more members than the gang's item holds. A call beyond that is refused, and comes again.
- With a topology key, the members of a commit are on nodes of one value of the key, as the node cache had it. A pod
  that joins a committed gang is bound on such a node.
- A commit counts only for its own members: when none of them lives, another gang may have the name.
- Gangs do not wait for each other in a circle: one is open, and the others hold nothing in the tables. Their places in
  the queue only bound how many calls wait.
- No request starts unless it can end before the call's deadline. Another member, a later call or the watcher then
      finishes the rest, as after a crash.
- A call that dies leaves its intent for the time that it would have waited. Others may commit with it: then fewer
  members than the minimum are bound at first. The member keeps its share until it expires, and its next bind takes it
  over. So it is with a call that the table does not answer until its deadline.

Not guaranteed:
- That all members of a committed gang get onto their nodes. A pod or a node can go. The committing call looks for
  both just before, in the node cache; for at most MAX_GETS members that it lacks, at the API server.
- That each member of a commit still waits for it. At least the minimum did, by their clocks, when it was written; a
  member whose call had ended is bound by its next one.
- That a node keeps the value of the topology key.
- Anything about pods that others bind, or that are created on a node: they count as members on nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from berth.bind.gang.member import GangMember, GangOfPod, GangPlace, Get, lost_of
from berth.bind.gang.member_call import MemberCall, MemberCallContext
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import CacheUnavailable, NodeCache
from berth.ledger.gangs.commit import REASON_MEMBER_GONE, REASON_NODE_GONE
from berth.ledger.gangs.item import GangItem
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.scheduling.gangs.gang import Gang, InvalidGang, gang_of
from berth.scheduling.gangs.members import domains_of, priority_of, waits
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang, names_pod_group
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot

DOMAIN_UNKNOWN = BindResult(BindOutcome.GANG_WAITS, "gang waits: the topology domain of the node is not known")


class GangBarrier:
    """Let bind wait for the other members of a gang. No method raises if the table cannot be
    reached. Safe to share between threads."""

    def __init__(
        self,
        table: GangTable,
        ledger: LedgerTable,
        cache: NodeCache,
        *,
        new_id: Callable[[], str],
        wall: Callable[[], float],
        sleep: Callable[[float], None],
        call_seconds: float,
    ) -> None:
        """cache: for PodGroups, nodes and members. call_seconds: the longest that one call of the table takes."""
        self._cache, self._wall = cache, wall
        self._context = MemberCallContext(table, ledger, self.why_not, new_id, wall, sleep, call_seconds)

    def gang_of(self, pod: Pod, node: str, deadline: Deadline) -> GangOfPod | BindResult | None:
        """Return the pod's gang, or None if it is not in a gang. BindResult: its gang cannot be placed. node: of the
        Binding."""
        if not names_gang(pod):
            return None
        context = self._cache.current(deadline)
        if not context.policy.plans(pod):
            return None
        cluster = None if isinstance(context.cluster, CacheUnavailable) else context.cluster
        found = gang_of(pod, {} if cluster is None else cluster.pod_groups, context.policy.gangs)
        if isinstance(context.cluster, CacheUnavailable) and (names_pod_group(pod) or _has_topology_key(found)):
            # The number of members, or the domain of the node, is not known, whatever `whenStale` says: filter
            # decides without the cache, and bind keeps members together.
            return BindResult(BindOutcome.GANG_WAITS, context.cluster.reason)
        if found is None:
            return None
        if isinstance(found, InvalidGang):
            return BindResult(BindOutcome.GANG_INVALID, found.error)
        if cluster is None:
            return GangOfPod(replace(found, priority=priority_of(found, [pod])))
        return _with_cluster(found, pod, node, cluster, context.policy)

    def why_not(self, item: GangItem, get: Get, deadline: Deadline) -> str:
        """Return why these members must not be committed; empty if nothing is known against it, as without the node
        cache. A node may be gone since filter chose it: the API server would let a member be bound there. And members
        may be gone: filter does not count them either."""
        context = self._cache.current(deadline)
        cluster, waiting = context.cluster, item.complete(self._wall()).values()
        if isinstance(cluster, CacheUnavailable):
            return ""
        if any(intent.node not in cluster.nodes for intent in waiting):
            return REASON_NODE_GONE
        lost = lost_of(waiting, context.policy.members_of(item.key, cluster), get)
        return REASON_MEMBER_GONE if len(waiting) - lost < item.minimum else ""

    def wait(self, member: GangMember) -> GangPlace | BindResult | None:
        """Wait until the gang is committed, and not longer than the deadline allows.

        BindResult: it is not, and the member no longer waits. None: the gang was committed before and has living
        members, so the pod is bound like any other.
        """
        try:
            return MemberCall(self._context, member).run()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))


def _has_topology_key(found: Gang | InvalidGang | None) -> bool:
    return isinstance(found, Gang) and bool(found.topology_key)


def _with_cluster(gang: Gang, pod: Pod, node: str, cluster: Snapshot, policy: Policy) -> GangOfPod | BindResult:
    pods = policy.members_of(gang.key, cluster)
    gang = replace(gang, priority=priority_of(gang, [pod, *_above(pod, pods.values(), cluster, policy)]))
    if not gang.topology_key:
        return GangOfPod(gang, pods=pods)
    value = cluster.nodes[node].labels.get(gang.topology_key) if node in cluster.nodes else None
    if not value:
        return DOMAIN_UNKNOWN
    return GangOfPod(gang, value, pods, domains_of(gang, pods.values(), cluster))


def _above(pod: Pod, members: Iterable[Pod], cluster: Snapshot, policy: Policy) -> Iterator[Pod]:
    """Yield the members of a higher priority that filter plans with this pod."""
    for each in members:
        is_above = (each.priority or 0) > (pod.priority or 0)
        if is_above and waits(each) and isinstance(gang_of(each, cluster.pod_groups, policy.gangs), Gang):
            yield each
