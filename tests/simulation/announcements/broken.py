"""Announcements with one rule left out. Each lets two pods onto a node that exclude each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.bind import announcing as protocol
from berth.bind import protocol as binding
from berth.bind.protocol import PreparedBind
from berth.ledger import announcements as reader
from berth.ledger.announcements import has_ended
from berth.scheduling.policy import Policy
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.simulation.broken import functions_of

from .history import UNRULED

# What is patched in are methods; their types are those of what they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def judged_before_others_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The announcement is put at the end of the log, whatever came there after it was read."""
    append = InMemoryAnnouncementLog.append

    def at_the_end(self, announcement):
        end = max((each.position for each in self.read(1)), default=0)
        return append(self, replace(announcement, position=end + 1))

    monkeypatch.setattr(InMemoryAnnouncementLog, "append", at_the_end)


def bound_without_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod is evaluated again, but its bind is not announced."""
    monkeypatch.setattr(InMemoryAnnouncementLog, "append", lambda self, announcement: True)


def ended_when_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The announcement ends with the bind, and the cache does not show the pod yet."""
    monkeypatch.setattr(binding, "BOUND", set())


def withdrawn_while_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer came, and the Binding is on its way."""
    run = PreparedBind.run

    def withdrawing(self):
        result = run(self)
        self._withdraw()
        return result

    monkeypatch.setattr(PreparedBind, "run", withdrawing)


def until_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Binding takes effect after the time that its announcement says."""
    monkeypatch.setattr(protocol, "GRACE_SECONDS", -3.0)


def unseen_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has never shown the pod, which is taken for one that has ended."""
    monkeypatch.setattr(
        reader,
        "has_ended",
        lambda announcement, snapshot, seen: has_ended(
            replace(announcement, resource_version="0"), snapshot, replace(seen, resource_version="1")
        ),
    )


def deleted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow bind gets a position that was taken and is free again."""
    monkeypatch.setattr(protocol, "RETENTION_SECONDS", -1000.0)
    monkeypatch.setattr(protocol, "TRIM_EVERY", 1)


def only_pods_with_a_rule_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of a scheduler whose profile has no rule is bound without a word to the others."""
    announce = protocol.Announcements.announce

    def of_its_own_rules(self, binding, found, deadline):
        return None if found.content["spec"]["schedulerName"] == UNRULED else announce(self, binding, found, deadline)

    monkeypatch.setattr(protocol.Announcements, "announce", of_its_own_rules)


def judged_by_its_own_node_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Announced pods on other nodes are left out, also of the same zone."""
    rejects = Policy.rejects_bind

    def with_pods_of_its_node(self, pod, node, snapshot, seconds_left):
        assumed = {node: snapshot.assumed.get(node, ())}
        return rejects(self, pod, node, replace(snapshot, assumed=assumed, placed=None), seconds_left)

    monkeypatch.setattr(Policy, "rejects_bind", with_pods_of_its_node)


BROKEN = functions_of(globals(), "monkeypatch")
