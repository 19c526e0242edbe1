"""Taints of nodes and tolerations of pods."""

from __future__ import annotations

import pytest

from berth.scheduling.fields.taints import TolerationIndex, read_taints, read_tolerations

TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        pytest.param({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True, id="Exists"),
        pytest.param({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False, id="another effect"),
        pytest.param({"key": "cpu", "operator": "Exists"}, False, id="another key"),
        pytest.param({"key": "gpu", "operator": "Exists"}, True, id="any effect"),
        pytest.param({"operator": "Exists"}, True, id="any key"),
        pytest.param({"key": "gpu", "operator": "Equal", "value": "a100"}, True, id="Equal"),
        pytest.param({"key": "gpu", "operator": "Equal", "value": "h100"}, False, id="Equal: another value"),
        pytest.param({"key": "gpu", "value": "a100"}, True, id="Equal is the default"),
        pytest.param({"key": "gpu"}, False, id="Equal: no value"),
        pytest.param({"key": "", "operator": "Equal", "value": "a100"}, True, id="Equal: any key"),
        pytest.param({"operator": "Equal", "value": "h100"}, False, id="Equal: any key, another value"),
        pytest.param({"key": "gpu", "operator": "Exists", "value": "h100"}, True, id="Exists ignores the value"),
        pytest.param({"key": "gpu", "operator": "Gt", "value": "1"}, False, id="Gt"),
        pytest.param({"key": "gpu", "operator": "In", "value": "a100"}, False, id="unknown operator"),
    ],
)
def test_toleration_matches_a_taint_by_key_value_and_effect(toleration: dict[str, str], tolerates: bool) -> None:
    index = TolerationIndex(read_tolerations([{"key": "other", "operator": "Exists"}, toleration]))
    assert index.tolerates(read_taints([TAINT])[0]) is tolerates


@pytest.mark.parametrize(
    ("effects", "repelled"),
    [
        pytest.param([], False, id="no taint"),
        pytest.param(["NoSchedule"], True, id="NoSchedule"),
        pytest.param(["NoExecute"], True, id="NoExecute"),
        pytest.param(["PreferNoSchedule"], False, id="PreferNoSchedule only scores"),
        pytest.param(["Unknown"], False, id="an unknown effect"),
        pytest.param(["PreferNoSchedule", "NoExecute"], True, id="one of two"),
    ],
)
def test_only_hard_effects_repel_pods_without_toleration(effects: list[str], repelled: bool) -> None:
    taints = read_taints([{**TAINT, "effect": effect} for effect in effects])
    assert TolerationIndex(()).repelled_by(taints) is repelled
    assert not TolerationIndex(read_tolerations([{"operator": "Exists"}])).repelled_by(taints)
