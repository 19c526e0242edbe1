"""Announcements with one rule left out. Each variant lets pods that exclude each other onto a node or into a zone."""

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

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def judged_before_others_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appends the announcement at the end of the log, even if others were appended after the log was read."""
    append = InMemoryAnnouncementLog.append

    def at_the_end(self, announcement):
        end = max((each.position for each in self.read(1)), default=0)
        return append(self, replace(announcement, position=end + 1))

    monkeypatch.setattr(InMemoryAnnouncementLog, "append", at_the_end)


def bound_without_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluates the pod again, but does not announce its bind."""
    monkeypatch.setattr(InMemoryAnnouncementLog, "append", lambda self, announcement: True)


def ended_when_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the announcement with the bind, before the cache shows the pod."""
    monkeypatch.setattr(binding, "BOUND", set())


def withdrawn_while_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Withdraws the announcement although the Binding was not answered and is still on its way."""
    run = PreparedBind.run

    def withdrawing(self):
        result = run(self)
        self._withdraw()
        return result

    monkeypatch.setattr(PreparedBind, "run", withdrawing)


def until_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a Binding take effect after its announcement has expired."""
    monkeypatch.setattr(protocol, "GRACE_SECONDS", -3.0)


def unseen_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats a pod that the cache has never shown as ended."""
    monkeypatch.setattr(
        reader,
        "has_ended",
        lambda announcement, snapshot, seen: has_ended(
            replace(announcement, resource_version="0"), snapshot, replace(seen, resource_version="1")
        ),
    )


def deleted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes announcements at once, so that a slow bind gets a position that was already used."""
    monkeypatch.setattr(protocol, "RETENTION_SECONDS", -1000.0)
    monkeypatch.setattr(protocol, "TRIM_EVERY", 1)


def only_pods_with_a_rule_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not announce a bind if the profile of the pod's scheduler has no rule."""
    announce = protocol.Announcements.announce

    def of_its_own_rules(self, binding, found, deadline):
        return None if found.content["spec"]["schedulerName"] == UNRULED else announce(self, binding, found, deadline)

    monkeypatch.setattr(protocol.Announcements, "announce", of_its_own_rules)


def judged_by_its_own_node_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignores announced pods on other nodes, even in the same zone."""
    rejects = Policy.rejects_bind

    def with_pods_of_its_node(self, pod, node, snapshot, seconds_left):
        assumed = {node: snapshot.assumed.get(node, ())}
        return rejects(self, pod, node, replace(snapshot, assumed=assumed, placed=None), seconds_left)

    monkeypatch.setattr(Policy, "rejects_bind", with_pods_of_its_node)


BROKEN = functions_of(globals(), "monkeypatch")
