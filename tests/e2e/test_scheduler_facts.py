"""The facts of the extender contract that depend on the version of kube-scheduler still hold as measured."""

from __future__ import annotations

from pathlib import Path

from tests.scheduler_facts.facts import MEASURED, Facts
from tests.scheduler_facts.measurements import measured_facts

from .kubernetes.control_plane import KUBERNETES


def test_scheduler_matches_the_measured_facts_of_its_version(tmp_path: Path) -> None:
    """Counts and times differ from run to run, but their meaning does not."""
    kept = Facts.read(MEASURED / f"{KUBERNETES}.json")
    assert measured_facts(tmp_path).behaviour() == kept.behaviour()
