"""The BerthConfiguration document: its fields, and the errors for an invalid one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import SHIPPED
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod

LABEL = {"name": "NodePriorityLabel", "args": {"label": "rank"}}


def test_empty_document_selects_label_priority_with_defaults() -> None:
    configuration = BerthConfiguration.model_validate({})
    assert configuration.profile == "label-priority"
    found = configuration.policy().feasibility(pod(), ["a", "b"], Snapshot.of([labelled("a", "1"), node("b")]))
    assert found.feasible == ["a"]


def test_passes_arguments_to_the_plugin() -> None:
    policy = BerthConfiguration.model_validate({"pluginConfig": [LABEL]}).policy()
    snapshot = Snapshot.of([node("a", {"rank": "3"}), labelled("b", "9")])
    assert policy.feasibility(pod(), ["a", "b"], snapshot).feasible == ["a"]
    assert policy.scores(pod(), ["a", "b"], snapshot) == [3, 0]


def test_exemption_of_the_document_applies_to_the_policy() -> None:
    policy = BerthConfiguration.model_validate({"exempt": {"namespaces": ["infra"]}}).policy()
    snapshot = Snapshot.of([node("a")])
    assert policy.feasibility(pod(namespace="infra"), ["a"], snapshot).feasible == ["a"]
    assert policy.feasibility(pod(namespace="kube-system"), ["a"], snapshot).feasible == []


@pytest.mark.parametrize(
    ("bind", "namespace", "is_covered"),
    [
        pytest.param({}, "any", True, id="all namespaces without a list"),
        pytest.param({"namespaces": ["ml"]}, "ml", True, id="a namespace of the list"),
        pytest.param({"namespaces": ["ml"]}, "web", False, id="another namespace"),
    ],
)
def test_bind_covers_pods_of_the_listed_namespaces(bind: dict[str, object], namespace: str, is_covered: bool) -> None:
    assert BerthConfiguration.model_validate({"bind": bind}).bind.covers_namespace(namespace) is is_covered


def test_rejects_scheduler_names_in_the_bind_section() -> None:
    """The deployment names the schedulers: a writer of the tables must not extend bind to other pods."""
    with pytest.raises(ValidationError, match=r"bind\.schedulerNames"):
        BerthConfiguration.model_validate({"bind": {"schedulerNames": ["default-scheduler"]}})


def test_document_can_be_passed_through_an_environment_variable() -> None:
    document = BerthConfiguration.model_validate(
        {"apiVersion": "berth.dev/v1alpha1", "pluginConfig": [LABEL], "exempt": {"daemonSets": False}}
    )
    assert BerthConfiguration.model_validate_json(document.model_dump_json(by_alias=True)) == document


def test_shipped_profiles_contain_only_shipped_plugins() -> None:
    for composition in SHIPPED.values():
        assert composition.plugins.keys() <= SHIPPED_PLUGINS.keys()
    assert set(SHIPPED) == {"label-priority", "resource-segregation", "managed-resources", "full"}


def test_custom_profile_can_extend_disable_and_enable_plugins() -> None:
    document = {
        "profile": "mine",
        "definitions": {
            "mine": {
                "extends": "full",
                "plugins": {
                    "disabled": [{"name": "ImageLocality"}],
                    "enabled": [{"name": "NodeName", "weight": 7}, {"name": "ResourceSegregation", "weight": 9}],
                },
            }
        },
    }
    found = BerthConfiguration.model_validate(document).composition("mine").plugins
    assert [*found.items()][:2] == [("NodeUnschedulable", 1), ("NodeName", 7)]
    assert [*found.items()][-1] == ("ResourceSegregation", 9)
    assert "ImageLocality" not in found


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param("as-is", [3, 30, 7], id="the unchanged score of the plugin"),
        pytest.param("totals", [0, 100, 14], id="normalised to 100 and not rounded any more"),
        pytest.param("extender", [0, 10, 1], id="on the extender's scale"),
    ],
)
def test_scores_setting_selects_the_scaling(scores: str, wanted: list[int]) -> None:
    definition = {"plugins": {"enabled": [{"name": "NodePriorityLabel"}]}, "scores": scores}
    policy = BerthConfiguration.model_validate({"profile": "mine", "definitions": {"mine": definition}}).policy()
    snapshot = Snapshot.of([labelled("a", "3"), labelled("b", "30"), labelled("c", "7")])
    assert policy.scores(pod(), ["a", "b", "c"], snapshot) == wanted


@pytest.mark.parametrize(
    ("document", "field", "message"),
    [
        pytest.param({"profile": "x"}, ("profile",), "Input should be 'label-priority'", id="an unknown profile"),
        pytest.param({"plugins": []}, ("plugins",), "Extra inputs are not permitted", id="an unknown field"),
        pytest.param(
            {"pluginConfig": [{"name": "NodeNames", "args": {}}]},
            ("pluginConfig", 0, "name"),
            "Input should be 'NodeUnschedulable', 'NodeName', 'TaintToleration', ",
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
            {"pluginConfig": [LABEL, LABEL]},
            ("pluginConfig", 1, "name"),
            "NodePriorityLabel is there more than once",
            id="a plugin configured twice",
        ),
        pytest.param(
            {"profiles": {"ours": "full", "theirs": "x"}},
            ("profiles", "theirs"),
            "Input should be 'label-priority'",
            id="an unknown profile of a scheduler",
        ),
        pytest.param(
            {"definitions": {"mine": {"extends": "managed-ressources"}}},
            ("definitions", "mine", "extends"),
            "Input should be 'label-priority', 'resource-segregation', 'managed-resources', 'full'",
            id="an unknown profile to extend",
        ),
        pytest.param(
            {"definitions": {"full": {"extends": "full"}}},
            ("definitions", "full", "[key]"),
            "full is the name of a profile that comes with Berth",
            id="a reserved profile name",
        ),
        pytest.param(
            {"definitions": {"No Name": {"extends": "full"}}},
            ("definitions", "No Name", "[key]"),
            "String should match pattern",
            id="an invalid profile name",
        ),
        pytest.param({"definitions": {"mine": {}}}, ("definitions", "mine"), "the profile has no plugins", id="empty"),
        pytest.param(
            {"definitions": {"mine": {"extends": "full", "scores": "as-is"}}},
            ("definitions", "mine"),
            "TaintToleration cannot score with 'scores: as-is'; use 'totals'",
            id="as-is scores of a plugin with reversed scores",
        ),
        pytest.param(
            {"definitions": {"mine": {"plugins": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]}}}},
            ("definitions", "mine", "plugins", "enabled", 1, "name"),
            "NodeName is there more than once",
            id="a plugin enabled twice",
        ),
        pytest.param({"bind": {"namespaces": []}}, ("bind", "namespaces"), "at least 1 item", id="an empty list"),
        pytest.param([], (), "valid dictionary", id="not a mapping"),
    ],
)
def test_error_names_field_and_accepted_values(document: object, field: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate(document)
    [detail] = caught.value.errors()
    assert detail["loc"] == field
    assert message in detail["msg"]


def test_plugins_of_a_policy_share_its_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Counting caches the demands of specs: each further Counting would read every pod again."""
    built: list[Counting] = []

    class Recorded(Counting):
        def __init__(self, resources: Iterable[ManagedResource] = ()) -> None:
            super().__init__(resources)
            built.append(self)

    monkeypatch.setattr("berth.scheduling.configuration.document.Counting", Recorded)
    seats = {"name": "example.com/seat", "capacity": {"value": 12, "scope": "cluster"}}
    document = BerthConfiguration.model_validate({"profile": "managed-resources", "managedResources": [seats]})
    assert [document.policy().counting] == built
