"""Finds the waiting pods that have no room left when the scheduler tries them, because it tries other pods first.

All pods take their turns in one run, so hundreds of them cost about as much as in `berth simulate`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.rivals import run_turns
from berth_cli.explanation.rules import Rules
from berth_cli.placement.queue import by_turn, rank_of


class Turns:
    """Places pods in order, as far as the time allows. takers: by UID of each pod so far, the pod that took its
    room; None if the pod has room. Pods of equal rank are not takers."""

    def __init__(self, order: Sequence[Pod], snapshot: Snapshot, rules: Rules) -> None:
        """Prepare the turns. `order`: the pods in the order of the scheduling queue."""
        self.takers: dict[str, Pod | None] = {}
        self._names, self._rules, self._turns = list(snapshot.nodes), rules, self._run(order, snapshot)

    def take(self, is_over: Callable[[], bool]) -> bool:
        """Continue until the time is over. Return whether all pods had their turn."""
        while not is_over():
            if next(self._turns, None) is None:
                return True
        return False

    def _run(self, order: Sequence[Pod], snapshot: Snapshot) -> Iterator[bool]:
        """Yield after each pod, or gang."""
        history: list[tuple[Pod, Snapshot]] = []
        by_kind: dict[object, Pod | None] = {}
        rank, before = None, 0
        turns = run_turns(order, snapshot, self._rules, lambda: False)
        for pods, (placed, state) in zip(by_turn(order), turns, strict=True):
            if rank_of(pods[0]) != rank:
                # A kind of pod that had room at the previous rank may have none now.
                rank, before = rank_of(pods[0]), len(history)
                by_kind = {kind: taker for kind, taker in by_kind.items() if taker is not None}
            history += [(pod, state) for pod in placed[:1]]
            self.takers |= dict.fromkeys((pod.uid for pod in placed), None)
            for pod in pods:
                kind = pod.spec, pod.label_set
                if pod.uid in self.takers:
                    continue
                if kind not in by_kind:
                    by_kind[kind] = self._taker(pod, history[:before])
                self.takers[pod.uid] = by_kind[kind]
            yield True

    def _taker(self, pod: Pod, history: Sequence[tuple[Pod, Snapshot]]) -> Pod | None:
        """Return the first placed pod beside which the pod does not fit."""
        lost = bisect_left(history, True, key=lambda at: not self._rules.fitting(pod, self._names, at[1]))
        return history[lost][0] if lost < len(history) else None
