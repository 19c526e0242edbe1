"""Announcements of pods: with them, concurrent binds keep the rules about other pods.

For each bind under a configuration with such rules:

1. Read the log of announcements to its end at position n, then the node cache.
2. Evaluate the pod on its node, with the pods of the cache and of the announcements that have not ended.
3. Put the pod's announcement at position n + 1, on the condition that this position is free. If it is taken, wait for a
   moment and begin again: the evaluation does not include the pod that took it.
4. Create the Binding.

If only scores look at other pods, bind does not evaluate the pod again, and binds it even if it cannot be announced.

Guarantee: the announcements are one sequence, and each pod was evaluated with all pods announced before it. So
concurrent binds do not violate a rule that sequential binds would keep. If two pods exclude each other, the later pod
is rejected.

Assumptions:
- every Binding goes through bind, for pods of every profile;
- a Binding takes effect before its announcement's `until`, or never: it is valid for one version of the pod only, and
  its sender gives up GRACE_SECONDS before `until`;
- the clocks behind the cache's `observed_at` and behind `until` differ by less than GRACE_SECONDS.

Not guaranteed: that the evaluated state stays. A pod that ends, an announced pod that the API server refuses, or a
changed label can break a rule for pods that are already placed, as with kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress

from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import CacheUnavailable, DecisionContext, NodeCache
from berth.ledger.announcements import Announcement, AnnouncementLog, BegunBind, pod_on_node
from berth.pods import Binding, FoundPod
from berth.scheduling.configuration.document import WhenStale
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.feasibility import TOO_COSTLY
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot

GRACE_SECONDS = 15.0
"""Seconds after a bind's deadline in which its Binding may still take effect, including differences between clocks."""

TRIM_EVERY = 8
"""One of this many binds deletes old announcements."""

RETENTION_SECONDS = 60.0
"""Seconds for which an announcement is kept after its `until`: longer than any bind takes. So a bind that read the log
before the announcement was made still finds its position taken."""

MAX_CONTENT_BYTES = 64_000
"""Maximum size in bytes of a pod in an announcement. Until the announcement is deleted, each call reads it for 16 read
units. A typical pod has 0.5 KB to a few KB; DynamoDB's limit is 400 KB per item."""

FIRST_WAIT = 0.02
"""The longest wait in seconds after the first attempt that found its position taken: about the duration of one attempt
of a warm bind."""
LONGEST_WAIT = 0.5

TOO_LARGE = BindResult(
    BindOutcome.TOO_LARGE, "the pod's labels, requests and affinity are too large for rules that depend on other pods"
)
CONTENDED = BindResult(BindOutcome.NOT_JUDGED, "too many pods are being bound at once; Berth could not judge this one")
DEADLINE_PASSED = BindResult(BindOutcome.NOT_JUDGED, "the deadline was over before the pod was announced")


class Announcements:
    """Announces pods that the verb bind places on nodes. Methods never raise TableUnavailable. Thread-safe."""

    def __init__(
        self,
        log: AnnouncementLog,
        cache: NodeCache,
        new_id: Callable[[], str],
        wall: Callable[[], float],
        sleep: Callable[[float], None],
        random: Callable[[], float],
    ) -> None:
        """Prepare the announcements. cache: its reads are consistent, and the log is read before the head. wall:
        returns the seconds since the epoch. random: returns a number in [0, 1)."""
        self._log = log
        self._cache = cache
        self._new_id = new_id
        self._wall = wall
        self._sleep = sleep
        self._random = random

    def begin(self, binding: Binding) -> None:
        """Record that the bind has begun. If that fails, the scores of the next pods count this pod a little later."""
        with suppress(TableUnavailable):
            self._log.begin(BegunBind(binding.pod_uid, binding.node, self._wall()))

    def announce(self, binding: Binding, found: FoundPod, deadline: Deadline) -> Announcement | BindResult | None:
        """Evaluate the pod once more, with all pods that were announced before it, and announce it. BindResult: a rule
        rejects the pod, or the pod could not be evaluated or announced. None: bind the pod without an announcement,
        because the configuration passes pods that cannot be evaluated, or no filter in force looks at other pods.
        """
        pod, attempt = read_pod(found.content), self._new_id()
        result: Announcement | BindResult | None = DEADLINE_PASSED
        is_required, half = True, deadline.remaining() / 2
        for wait in _waits():
            if not deadline.remaining():
                break
            context = self._cache.current(deadline)
            if not context.policy.reads_other_pods:
                # Another configuration is in force now. The log was not read for it, so the log's end is unknown.
                # If the cache is lost, the applied configuration is lost with it, and its rules cannot be evaluated.
                return _unevaluated(context.cluster) if isinstance(context.cluster, CacheUnavailable) else None
            is_required = context.policy.judges_binds
            result = self._tried(binding, found, pod, attempt, context, deadline)
            if result is not CONTENDED or (not is_required and deadline.remaining() <= half):
                break
            self._sleep(min(wait * self._random(), deadline.remaining()))
        # A score is only a preference: it must not stop a pod or use the Binding's time.
        return result if is_required or isinstance(result, Announcement) else None

    def _tried(
        self,
        binding: Binding,
        found: FoundPod,
        pod: Pod | UnreadableObject,
        attempt: str,
        context: DecisionContext,
        deadline: Deadline,
    ) -> Announcement | BindResult | None:
        """Try once. CONTENDED: the position is taken. None: the pod is bound without an announcement."""
        if isinstance(pod, UnreadableObject):
            return BindResult(BindOutcome.UNREADABLE, pod.cause)
        if isinstance(context.cluster, CacheUnavailable):
            return _unevaluated(context.cluster)
        refusal = _refusal(pod, binding, context.policy, context.cluster, deadline)
        if refusal is not None:
            return refusal
        placed = _placed(found, binding.node, context.policy.counting.pod_annotations)
        if isinstance(placed, BindResult):
            return placed
        until = self._wall() + deadline.remaining() + GRACE_SECONDS
        return self._append(
            Announcement(context.log.end + 1, attempt, *placed, found.resource_version, until), context.log.first
        )

    def _append(self, announcement: Announcement, first: int) -> Announcement | BindResult:
        """Append the announcement. CONTENDED: its position is taken. first: the first position of the log."""
        try:
            if not self._log.append(announcement):
                return CONTENDED
        except TableUnavailable as error:
            # The announcement may be in the log although the call failed.
            self.withdraw(announcement)
            return BindResult(BindOutcome.NOT_JUDGED, str(error))
        self._trim(announcement.position, first)
        return announcement

    def withdraw(self, announced: Announcement) -> None:
        """Withdraw the announcement; if the table does not answer, it expires. Call this only if no Binding of the call
        has taken effect or can still take effect."""
        with suppress(TableUnavailable):
            self._log.withdraw(announced.position, announced.attempt)

    def _trim(self, position: int, first: int) -> None:
        if position % TRIM_EVERY == 0:
            with suppress(TableUnavailable):
                self._log.trim(first, self._wall() - RETENTION_SECONDS)


def _unevaluated(cluster: CacheUnavailable) -> BindResult | None:
    return None if cluster.when_stale is WhenStale.PASS else BindResult(BindOutcome.NOT_JUDGED, cluster.reason)


def _waits() -> Iterator[float]:
    """Yield the longest wait before each retry, in seconds: without waits, n concurrent binds make n² attempts."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT)


def _refusal(pod: Pod, binding: Binding, policy: Policy, snapshot: Snapshot, deadline: Deadline) -> BindResult | None:
    """Return the reason why filters that depend on other pods reject the node, or None if they accept it."""
    try:
        rejected = policy.rejects_bind(pod, binding.node, snapshot, deadline.decision_seconds())
    except PluginFailed as error:
        return BindResult(BindOutcome.NOT_JUDGED, f"pod {binding.namespace}/{binding.pod_name}: {error}")
    except DeadlineExceeded:
        return DEADLINE_PASSED
    if rejected is None:
        return None
    return BindResult(BindOutcome.NOT_JUDGED if rejected is TOO_COSTLY else BindOutcome.REJECTED, rejected.message)


def _placed(found: FoundPod, node: str, annotations: Container[str]) -> tuple[Pod, bytes] | BindResult:
    placed = pod_on_node(found.content, node, annotations)
    if isinstance(placed, UnreadableObject):
        return BindResult(BindOutcome.UNREADABLE, placed.cause)
    return placed if len(placed[1]) <= MAX_CONTENT_BYTES else TOO_LARGE
