"""The BerthConfiguration document: what it says, and what a wrong one is told."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from berth.scheduling.configuration import BerthConfiguration
from berth.scheduling.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod

LABEL = {"name": "NodePriorityLabel", "args": {"label": "rank"}}


def test_an_empty_document_is_label_priority_with_its_defaults() -> None:
    configuration = BerthConfiguration.model_validate({})
    assert configuration.profile == "label-priority"
    found = configuration.policy().feasibility(pod(), ["a", "b"], Snapshot.of([labelled("a", "1"), node("b")]))
    assert found.feasible == ["a"]


def test_arguments_reach_their_plugin() -> None:
    policy = BerthConfiguration.model_validate({"pluginConfig": [LABEL]}).policy()
    snapshot = Snapshot.of([node("a", {"rank": "3"}), labelled("b", "9")])
    assert policy.feasibility(pod(), ["a", "b"], snapshot).feasible == ["a"]
    assert policy.scores(pod(), ["a", "b"], snapshot) == [3, 0]


def test_the_exemption_is_part_of_it() -> None:
    policy = BerthConfiguration.model_validate({"exempt": {"namespaces": ["infra"]}}).policy()
    snapshot = Snapshot.of([node("a")])
    assert policy.feasibility(pod(namespace="infra"), ["a"], snapshot).feasible == ["a"]
    assert policy.feasibility(pod(namespace="kube-system"), ["a"], snapshot).feasible == []


def test_a_document_survives_the_way_through_an_environment_variable() -> None:
    document = BerthConfiguration.model_validate(
        {"apiVersion": "berth.dev/v1alpha1", "pluginConfig": [LABEL], "exempt": {"daemonSets": False}}
    )
    assert BerthConfiguration.model_validate_json(document.model_dump_json(by_alias=True)) == document


@pytest.mark.parametrize(
    ("document", "field", "message"),
    [
        pytest.param({"profile": "x"}, ("profile",), "Input should be 'label-priority'", id="an unknown profile"),
        pytest.param({"kind": "Deployment"}, ("kind",), "Input should be 'BerthConfiguration'", id="another kind"),
        pytest.param({"apiVersion": "v2"}, ("apiVersion",), "'berth.dev/v1alpha1'", id="another version"),
        pytest.param({"plugins": []}, ("plugins",), "Extra inputs are not permitted", id="an unknown field"),
        pytest.param(
            {"exempt": {"daemonsets": False}},
            ("exempt", "daemonsets"),
            "Extra inputs are not permitted",
            id="a misspelt field",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeName", "args": {}}]},
            ("pluginConfig", 0, "name"),
            "Input should be 'NodePriorityLabel'",
            id="an unknown plugin",
        ),
        pytest.param(
            {"pluginConfig": [LABEL | {"args": {"label": "a b"}}]},
            ("pluginConfig", 0, "args", "label"),
            "String should match pattern",
            id="a label key that no node could have",
        ),
        pytest.param(
            {"pluginConfig": [LABEL | {"args": {"lable": "a"}}]},
            ("pluginConfig", 0, "args", "lable"),
            "Extra inputs are not permitted",
            id="a misspelt argument",
        ),
        pytest.param(
            {"pluginConfig": [LABEL, LABEL]}, (), "pluginConfig names NodePriorityLabel more than once", id="twice"
        ),
        pytest.param([], (), "valid dictionary", id="no mapping"),
    ],
)
def test_an_error_names_the_field_and_what_it_should_be(document: object, field: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate(document)
    [detail] = caught.value.errors()
    assert detail["loc"] == field
    assert message in detail["msg"]
