"""Evaluation and announcement of a pod that is being bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from berth.bind.announcing import (
    CONTENDED,
    DEADLINE_PASSED,
    FIRST_WAIT,
    LONGEST_WAIT,
    RETENTION_SECONDS,
    TOO_LARGE,
    TRIM_EVERY,
)
from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.announcements import Announcement, BegunBind
from berth.pods import Binding, Created, Refused, Unanswered
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import TimeLimit
from berth.scheduling.feasibility import TOO_COSTLY
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.policy import Policy
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.fakes.binding_world import ANTI_AFFINITY, FULL, SCORES_ALONE, TakenLog, World


def test_records_the_begun_bind_before_it_reads_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    seen: list[list[str]] = []
    find = world.pod

    def read(namespace: str, pod_name: str, timeout: float) -> object:
        seen.append([each.node for each in world.log.read_with_begun(1)[1]])
        return find(namespace, pod_name, timeout)

    monkeypatch.setattr(world, "pod", read)
    world.bind("p")
    assert seen == [["node-a"]]


def test_binds_even_if_the_begun_bind_cannot_be_recorded() -> None:
    world = World(log=UnavailableLog("begin"))
    assert world.bind("p").outcome is BindOutcome.BOUND


def test_rejects_pod_that_conflicts_with_an_announced_pod() -> None:
    world = World()
    world.bind("p")
    assert world.bind("q") == BindResult(BindOutcome.REJECTED, ANTI_AFFINITY)
    assert world.bind("q", on="node-b").outcome is BindOutcome.BOUND
    assert world.announced() == [(1, "p", False), (2, "q", False)]


def test_binds_without_rechecking_unless_a_rule_reads_other_pods() -> None:
    """Without such a rule, bind reads only the configuration, every 10 s, and the node cache, in each call."""
    world = World(BerthConfiguration.model_validate({"profile": "label-priority"}))
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert world.announced() == []


def test_refuses_bind_without_cache_even_if_the_deployed_profile_reads_only_nodes() -> None:
    """The applied configuration is lost with the cache, and its rules cannot be evaluated."""
    world = World(BerthConfiguration.model_validate({"profile": "label-priority"}))
    world.published.clock.advance(1_000)
    assert world.bind("p").outcome is BindOutcome.NOT_JUDGED


@pytest.mark.parametrize(
    ("labels", "result"),
    [
        pytest.param(500, BindResult(BindOutcome.BOUND), id="very many labels"),
        pytest.param(5_000, TOO_LARGE, id="larger than an announcement may be"),
        pytest.param(20_000, TOO_LARGE, id="larger than a DynamoDB item may be"),
    ],
)
def test_refuses_only_the_pod_that_is_too_large_to_announce(labels: int, result: BindResult) -> None:
    world = World()
    world.labels = {f"label-{number}": "v" * 10 for number in range(labels)}
    assert world.bind("large") == result
    world.labels = {}
    assert world.bind("small", on="node-b").outcome is BindOutcome.BOUND
    announced = [name for _, name, _ in world.announced()]
    assert announced == (["small"] if result is TOO_LARGE else ["large", "small"])


def test_evaluates_the_pod_again_if_the_position_is_occupied(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, world, append = World(), World(), InMemoryAnnouncementLog.append
    earlier.bind("other")
    excluding = replace(earlier.log.read(1)[0], attempt="another's")

    def first_comes_another(self, mine):  # type: ignore[no-untyped-def]
        append(self, excluding)
        return append(self, mine)

    monkeypatch.setattr(InMemoryAnnouncementLog, "append", first_comes_another)
    assert world.bind("p").outcome is BindOutcome.REJECTED


@pytest.mark.parametrize(
    ("answer", "outcome", "withdrawn"),
    [
        pytest.param(Created(), BindOutcome.BOUND, False, id="wait until the cache shows it"),
        pytest.param(Refused(403, "no"), BindOutcome.REFUSED, True, id="no Binding takes effect"),
        pytest.param(Refused(404, "gone"), BindOutcome.POD_GONE, True, id="deleted pod cannot be bound"),
        pytest.param(Unanswered("lost"), BindOutcome.ALREADY_BOUND, False, id="the Binding may still arrive"),
    ],
)
def test_withdraws_only_announcements_that_cannot_take_effect(
    answer: Created | Refused | Unanswered, outcome: BindOutcome, withdrawn: bool
) -> None:
    world = World()
    world.answer = lambda binding: answer
    found = world.bind("p").outcome
    assert found is outcome or isinstance(answer, Unanswered)
    assert [each[2] for each in world.announced()] == [withdrawn]


def test_announces_again_if_the_pod_has_changed() -> None:
    world = World()

    def changes(binding: Binding) -> Refused | Created:
        if world.version == binding.resource_version == "7":
            world.version = "8"
            return Refused(409, "the pod has changed")
        return Created()

    world.answer = changes
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert world.announced() == [(1, "p", True), (2, "p", False)]


def test_refuses_bind_without_cache() -> None:
    world = World()
    world.published.clock.advance(1_000)
    result = world.bind("p")
    assert result.outcome is BindOutcome.NOT_JUDGED
    assert "node cache" in result.reason
    assert world.announced() == []


def test_binds_without_rechecking_if_calls_pass_on_a_stale_cache() -> None:
    world = World(BerthConfiguration.model_validate({"profile": "full", "nodeCache": {"whenStale": "pass"}}))
    world.published.clock.advance(1_000)
    assert world.bind("p").outcome is BindOutcome.BOUND


def test_deletes_old_announcements_periodically() -> None:
    world = World()
    now = world.published.clock.wall()
    old = [
        announcement(position, resource_version="1", until=now - RETENTION_SECONDS - 1)
        for position in range(1, TRIM_EVERY)
    ]
    old[2] = replace(old[2], until=now - RETENTION_SECONDS + 1)
    for each in old:
        world.log.append(each)
    world.publish_nodes({"node-a": "1", "node-b": "2"})
    world.cache.current()
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert [position for position, _, _ in world.announced()] == [3, TRIM_EVERY - 1, TRIM_EVERY]


def count_calls(owner: object, name: str, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    method = getattr(owner, name)

    def counted(*args: object) -> object:
        calls.append(name)
        return method(*args)

    monkeypatch.setattr(owner, name, counted)


def test_makes_two_reads_and_one_write_without_contention(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.cache.current()
    calls: list[str] = []
    for name in ("read", "append", "withdraw", "trim"):
        count_calls(world.log, name, calls, monkeypatch)
    count_calls(world.published.table, "head", calls, monkeypatch)
    world.bind("p")
    assert calls == ["read", "head", "append"]


@pytest.mark.parametrize(
    ("profile", "reads"),
    [
        pytest.param("label-priority", [], id="plugins read only nodes"),
        pytest.param("resource-segregation", [], id="segregation plugins read only nodes"),
        pytest.param("managed-resources", [], id="plugins read only counted resources"),
        pytest.param("full", ["read"], id="some plugins read pods"),
    ],
)
def test_verbs_read_announcements_only_for_profiles_that_read_pods(
    profile: str, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(BerthConfiguration.model_validate({"profile": profile}))
    world.cache.current()
    calls: list[str] = []
    count_calls(world.log, "read", calls, monkeypatch)
    world.cache.current()
    assert calls == reads


def test_refuses_bind_if_a_plugin_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise PluginFailed("berth_plugins.mine:Mine", "filter", "KeyError: 'team'", "node-a")

    monkeypatch.setattr(Policy, "rejects_bind", fails)
    world = World()
    assert world.bind("db-0") == BindResult(
        BindOutcome.NOT_JUDGED,
        "pod default/db-0: plugin berth_plugins.mine:Mine failed in filter on node node-a: KeyError: 'team'",
    )
    assert world.announced() == []


def test_announces_without_rechecking_if_only_scores_read_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(SCORES_ALONE)
    assert [world.bind(name).outcome for name in ("p", "q")] == [BindOutcome.BOUND, BindOutcome.BOUND]
    assert world.announced() == [(1, "p", False), (2, "q", False)]


def test_binds_without_announcement_if_only_scores_read_pods_and_the_cache_is_stale() -> None:
    """A score is only a preference, so it must not prevent a bind."""
    world = World(SCORES_ALONE)
    world.published.clock.advance(1_000)
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert world.announced() == []


class UnavailableLog(InMemoryAnnouncementLog):
    """Fails the given call. is_written: whether a failed append is written nevertheless."""

    def __init__(self, call: str, *, is_written: bool = False) -> None:
        super().__init__()
        self._call, self._is_written = call, is_written

    def read(self, first: int) -> list[Announcement]:
        if self._call == "read":
            raise TableUnavailable("ledger table: throttled")
        return [*super().read(first)]

    def begin(self, bind: BegunBind) -> None:
        if self._call == "begin":
            raise TableUnavailable("ledger table: throttled")
        super().begin(bind)

    def append(self, mine: Announcement) -> bool:
        if self._is_written or self._call != "append":
            super().append(mine)
        if self._call == "append":
            raise TableUnavailable("ledger table: throttled")
        return True


@pytest.mark.parametrize(
    ("log", "pod", "announced"),
    [
        pytest.param(InMemoryAnnouncementLog, {"labels": {"large": "v" * 64_000}}, [], id="a pod too large"),
        pytest.param(InMemoryAnnouncementLog, {"specs": {"p": {"affinity": []}}}, [], id="an unreadable pod"),
        pytest.param(partial(UnavailableLog, "read"), {}, None, id="the log cannot be read"),
        pytest.param(partial(UnavailableLog, "append"), {}, [], id="the announcement cannot be written"),
        pytest.param(
            partial(UnavailableLog, "append", is_written=True),
            {},
            [(1, "p", True)],
            id="it was written despite the error",
        ),
        pytest.param(partial(TakenLog, 1_000), {}, None, id="every position is occupied"),
    ],
)
@pytest.mark.parametrize("refuses", [False, True])
def test_refuses_pod_that_cannot_be_announced_only_if_a_filter_reads_pods(
    log: Callable[[], InMemoryAnnouncementLog],
    pod: dict[str, object],
    announced: list[tuple[int, str, bool]] | None,
    refuses: bool,
) -> None:
    """A score is only a preference, so it must not prevent a bind."""
    world = World(FULL if refuses else SCORES_ALONE, log=log())
    for attribute, value in pod.items():
        setattr(world, attribute, value)
    assert (world.bind("p").outcome is BindOutcome.BOUND) is not refuses
    if announced is not None:
        assert world.announced() == announced


# Announcing while positions of the log are occupied, and when little time is left.


def test_waits_longer_after_each_occupied_position() -> None:
    world = World(log=TakenLog(8))
    assert world.bind("p", seconds=30.0).outcome is BindOutcome.BOUND
    # The random number is 0.5.
    assert world.waits == [min(LONGEST_WAIT, FIRST_WAIT * 2**tries) / 2 for tries in range(8)]


def test_fails_if_every_position_is_occupied_until_the_deadline() -> None:
    world = World(log=TakenLog(1_000))
    assert world.bind("p", seconds=1.0) == CONTENDED
    assert sum(world.waits) == pytest.approx(1.0)
    assert "p" not in [name for _, name, _ in world.announced()]


def test_refuses_if_the_deadline_passes_before_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    find = world.pod

    def slowly(namespace: str, pod_name: str, timeout: float) -> object:
        world.now += 4.0
        return find(namespace, pod_name, timeout)

    monkeypatch.setattr(world, "pod", slowly)
    assert world.bind("p") == DEADLINE_PASSED
    assert world.announced() == []


def test_refuses_if_too_little_time_is_left_to_evaluate() -> None:
    """The answer needs the remaining time."""
    world = World(time_limit=TimeLimit(2.0, lambda: 0.0, lambda: 0.0))
    assert world.bind("p", seconds=0.05) == DEADLINE_PASSED


def test_refuses_pod_that_is_too_expensive_to_evaluate() -> None:
    """bind has the same time limit as filter: a pod that exceeds it is not evaluated again for a while."""
    looks: list[float] = []

    def clock() -> float:
        looks.append(1.0)
        return sum(looks)

    world = World(time_limit=TimeLimit(0.5, clock, lambda: 0.0))
    for _ in range(2):
        assert world.bind("p") == BindResult(BindOutcome.NOT_JUDGED, TOO_COSTLY.message)
        first, looks[:] = [*looks], []
    assert first == []
    assert world.announced() == []


def test_leaves_half_of_the_time_for_the_binding_if_only_scores_read_pods() -> None:
    world = World(SCORES_ALONE, log=TakenLog(1_000))
    assert world.bind("p", seconds=4.0).outcome is BindOutcome.BOUND
    assert 2.0 <= sum(world.waits) < 2.0 + LONGEST_WAIT
