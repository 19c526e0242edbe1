"""What the reader has to know of the sources of an explanation."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth_cli.explanation.sources import stack as stack_source
from berth_cli.explanation.sources.inputs import Sources, read_inputs
from tests.unit.cli.explanation.sources.test_stack import LABELLED, Stack

SERVICES = "Services and controllers, by which PodTopologySpread spreads pods without constraints"
WITHOUT = (
    "The pod is judged without {}: the configuration in force does not read them, so the node cache lacks them; give "
    "--kubeconfig FILE too."
)


@pytest.mark.parametrize(
    ("profile", "notes"),
    [
        pytest.param(None, (), id="the policy in force"),
        pytest.param("resource-segregation", (), id="another policy that reads no more"),
        pytest.param(
            "full", (WITHOUT.format(SERVICES), WITHOUT.format("images, which ImageLocality scores")), id="one that does"
        ),
    ],
)
def test_names_what_another_policy_reads_and_the_node_cache_lacks(
    profile: str | None, notes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_source, "read_stack", lambda *_: Stack(configuration=LABELLED).read())
    assert read_inputs(Sources(stack="s"), "p", None, profile).notes == notes


def test_a_live_cluster_lacks_nothing_of_what_a_policy_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Stack(configuration=LABELLED).read()
    monkeypatch.setattr(stack_source, "read_stack", lambda *_: found)
    monkeypatch.setattr("berth_cli.sources.live.live_objects", lambda *_: [dict(each) for each in found.objects])
    assert read_inputs(Sources(stack="s", kubeconfig=Path("k")), "p", None, "full").notes == ()
