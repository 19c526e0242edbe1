"""A late view delays a pod, but does not evict others, lose nominations or forget pods (docs/concepts/late-view.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from berth.extender import filter as filter_verb
from berth.extender.arguments import LastAttempt, read_pod_version
from berth.scheduling.policy import Policy

from .late_view import ForgetfulVictims, History

pytestmark = pytest.mark.long

SEEDS = range(300)


def test_outdated_cache_delays_pods_but_never_breaks_a_rule() -> None:
    runs = {seed: History.of(seed).run() for seed in SEEDS}
    assert {seed: run.broken for seed, run in runs.items() if run.broken} == {}
    # Otherwise the histories would not prove anything.
    assert sum(bool(run.costs) for run in runs.values()) > len(SEEDS) // 5
    assert sum(run.queue == "bound" and not run.costs for run in runs.values()) > len(SEEDS) // 20


def rejects_first_attempts(patch: pytest.MonkeyPatch, _: History) -> None:
    patch.setattr(filter_verb, "_waits", lambda *_: False)


def waits_after_each_failure(patch: pytest.MonkeyPatch, _: History) -> None:
    """A rejection after an Error changes the condition, which wakes the pod: so it would wait again, endlessly."""
    read = read_pod_version
    patch.setattr(filter_verb, "read_pod_version", lambda body: replace(read(body), last_attempt=LastAttempt.ERROR))


def answers_the_nominated_node_as_unresolvable(patch: pytest.MonkeyPatch, _: History) -> None:
    patch.setattr(Policy, "resolvable", lambda *_: set())


def forgets_its_victims(_: pytest.MonkeyPatch, run: History) -> None:
    run.answered = ForgetfulVictims()


def wakes_no_pod(_: pytest.MonkeyPatch, run: History) -> None:
    run.wakes = False


@pytest.mark.parametrize(
    ("variant", "broken"),
    [
        (rejects_first_attempts, "evicts while a node fits"),
        (answers_the_nominated_node_as_unresolvable, "loses its nomination"),
        (waits_after_each_failure, "writes without end"),
        (forgets_its_victims, "evicts on two nodes"),
        (wakes_no_pod, "is not placed"),
    ],
)
def test_simulation_fails_for_each_broken_variant(
    variant: Callable[[pytest.MonkeyPatch, History], None], broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in SEEDS:
        run = History.of(seed)
        variant(monkeypatch, run)
        if broken in run.run().broken:
            return
    pytest.fail(f"no history {broken}")
