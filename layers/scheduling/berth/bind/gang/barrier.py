"""The barrier of a gang: bind does not bind a member before the minimum number of members wait in bind.

Each call of bind, for a member of a gang:

1. Read the gang's item. If the gang is committed and one of its members is alive, the pod is bound like any other, on
   a node of the gang's topology domain. The same applies if the item is gone and a living member is on a node: members
   get onto nodes only after a commit.
2. Open the contention domain for the gang, unless another call has done so. While another gang is open, wait a
   limited time for its end; then fail.
3. Announce the pod for rules about other pods, write an open reservation, and add the intent to the gang's item. A
   member that waits for another gang is not announced, so that it does not exclude that gang's pods.
4. Wait. The call that finds the minimum number of members, on existing nodes of one topology domain, commits for them
   all (`GangCommit`). The other calls see the commit when they read the item again.
5. Send the Binding; bind does this after the barrier.

A call gives up before its deadline: it withdraws its intent, on the condition that the gang is still open. If the gang
has been committed, the call continues. An error of the table does not end a call whose intent may be in the item:
the call reads again until its deadline.

Guarantees:
- Before the commit, members' Bindings are not sent. So a call can always give up or crash safely.
- A commit contains at least the minimum of members, each with its share of the ledger and a call that had not given up.
  So all of them are bound, unless a call dies, or the table does not answer it until its deadline.
- A commit contains at most as many members as the gang's item can hold. Further calls are rejected and retried.
- With a topology key, the members of a commit are on nodes with one value of the key, as in the node cache. A pod
  that joins a committed gang is bound on such a node.
- A commit applies only to its own members: when all of them are gone, another gang may use the name.
- Gangs do not deadlock: at most one gang is open, and a gang that waits for its turn does not hold shares. Places in
  the queue only limit how many calls wait.
- A request starts only if it can end before the call's deadline. Another member, a later call or the watcher finishes
  the rest, as after a crash.
- A call that crashes leaves its intent for the time that it would have waited. Other calls may commit with this intent:
  then fewer members than the minimum are bound at first. The member keeps its share until the share expires, and its
  next bind takes the share over. The same applies to a call that the table does not answer until its deadline.

Not guaranteed:
- That all members of a committed gang get onto their nodes. A pod or a node can disappear. The committing call checks
  both just before, in the node cache; it GETs at most MAX_GETS members that are not in the cache.
- That each member of a commit still waits in bind. At least the minimum waited, by their clocks, when the commit was
  written; a member whose call had ended is bound by its next call.
- That a node keeps the value of the topology key.
- Anything about pods that other schedulers bind, or that are created on a node: they count as members on nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from berth.bind.gang.member import GangMember, GangOfPod, GangPlace, Get, lost_of
from berth.bind.gang.member_call import MemberCall
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


@dataclass(eq=False)
class GangBarrier:
    """Lets bind wait for the other members of a gang. Methods do not raise if the table is unavailable. Thread-safe.

    cache: has the PodGroups, nodes and members. wall: returns the seconds since the epoch. call_seconds: the longest
    duration of a call to the table.
    """

    table: GangTable
    ledger: LedgerTable
    cache: NodeCache
    new_id: Callable[[], str]
    wall: Callable[[], float]
    sleep: Callable[[float], None]
    call_seconds: float

    def gang_of(self, pod: Pod, node: str, deadline: Deadline) -> GangOfPod | BindResult | None:
        """Return the pod's gang, or None if it is not in a gang. BindResult: its gang cannot be placed. node: the
        Binding's node."""
        if not names_gang(pod):
            return None
        context = self.cache.current(deadline)
        if not context.policy.plans(pod):
            return None
        cluster = None if isinstance(context.cluster, CacheUnavailable) else context.cluster
        found = gang_of(pod, {} if cluster is None else cluster.pod_groups, context.policy.gangs)
        has_topology_key = isinstance(found, Gang) and bool(found.topology_key)
        if isinstance(context.cluster, CacheUnavailable) and (names_pod_group(pod) or has_topology_key):
            # The number of members, or the domain of the node, is unknown. This ignores `whenStale`: filter may decide
            # without the cache, but bind must keep members together.
            return BindResult(BindOutcome.GANG_WAITS, context.cluster.reason)
        if found is None:
            return None
        if isinstance(found, InvalidGang):
            return BindResult(BindOutcome.GANG_INVALID, found.error)
        if cluster is None:
            return GangOfPod(replace(found, priority=priority_of(found, [pod])))
        return _with_cluster(found, pod, node, cluster, context.policy)

    def why_not(self, item: GangItem, get: Get, deadline: Deadline) -> str:
        """Return the reason not to commit these members; empty if they may be committed, or the cache is unavailable.

        A node may have been deleted after the scheduler chose it: the API server would still accept the Binding.
        Members that are gone do not count, as in filter."""
        context = self.cache.current(deadline)
        cluster, waiting = context.cluster, item.complete(self.wall()).values()
        if isinstance(cluster, CacheUnavailable):
            return ""
        if any(intent.node not in cluster.nodes for intent in waiting):
            return REASON_NODE_GONE
        lost = lost_of(waiting, context.policy.members_of(item.key, cluster), get)
        return REASON_MEMBER_GONE if len(waiting) - lost < item.minimum else ""

    def wait(self, member: GangMember) -> GangPlace | BindResult | None:
        """Wait until the gang is committed, or until the deadline.

        BindResult: the gang is not committed, and the member no longer waits. None: the gang was committed before and
        has living members, so the pod is bound like any other.
        """
        try:
            return MemberCall(
                member,
                self.table,
                self.ledger,
                self.why_not,
                self.new_id(),
                self.wall,
                self.sleep,
                self.call_seconds,
            ).run()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))


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
    """Yield the members with a higher priority that filter plans together with this pod."""
    for each in members:
        is_above = (each.priority or 0) > (pod.priority or 0)
        if is_above and waits(each) and isinstance(gang_of(each, cluster.pod_groups, policy.gangs), Gang):
            yield each
