"""Pages that show what a server answered about a cluster that is gone: the same decisions give the same answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from berth.extender.decision import Decision
from berth.extender.outcomes import FilterOutcome
from berth.extender.ports import CacheState
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth_cli.recording.format import read_recording
from berth_cli.recording.replay import RecordedDecision, RecordedDecisions
from berth_cli.serve.shadow import ShadowPolicy
from berth_cli.simulate.policy_options import read_policy
from tests.conftest import PROJECT

"""Seconds since each attempt."""
REPLAY = PROJECT / "examples" / "replay"


def block(page: str, command: str) -> tuple[str, str]:
    """The command that begins so, and its output on the page."""
    found = re.search(
        rf"^```console\n\$ ({command}[^\n]*)\n(.*?)^```", (PROJECT / page).read_text(), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    return found[1], found[2]


def decision_of(recorded: RecordedDecision) -> Decision:
    """As the verb handed it on."""
    line, snapshot = recorded.line, recorded.snapshot
    nodes = NodeRefs.of(list(line.nodes), snapshot.nodes.positions)
    return Decision(recorded.pod, nodes, recorded.policy, snapshot, CacheState(line.version, line.time))


def test_shadow_page_shows_the_second_policy_on_the_recorded_decisions() -> None:
    _, output = block("docs/how-to/shadow.md", "curl -s http://127.0.0.1:8080/shadow")
    shown = json.loads(output)
    times = iter([each.pop("time") for each in shown["disagreements"]])
    shadow = ShadowPolicy(read_policy(REPLAY / "proposed.yaml").policy(), lambda: None, lambda: 0.0)
    recorded_at = {}
    for each in RecordedDecisions(read_recording(REPLAY / "monday.rec")):
        shadow.record(each.line.verb, FilterOutcome.FEASIBLE, decision_of(each), milliseconds=1.0)
        recorded_at[each.pod.name] = each.line.time
    shadow.close()
    found: Any = json.loads(json.dumps(shadow.document()))
    for each in found["disagreements"]:
        assert each.pop("time") == 0.0
        assert next(times) == pytest.approx(recorded_at[each["name"]], abs=0.1)
    assert found == shown
    assert output == f"{json.dumps(json.loads(output), indent=2)}\n"
