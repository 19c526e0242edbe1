"""Label selectors: which labels they match, with few requirements and with many."""

from __future__ import annotations

import pytest

from berth.scheduling.fields.reading import MalformedField
from berth.scheduling.fields.requirements import FEW, InvalidRequirement, Operator, Requirement
from berth.scheduling.fields.selectors import EVERYTHING, NOTHING, LabelSelector, read_label_selector

PADDING = tuple(Requirement(f"pad-{number}", Operator.DOES_NOT_EXIST) for number in range(FEW + 1))
"""Requirements that every label set of this module meets, so that a selector with them is matched by an index."""


def selector(value: object) -> LabelSelector:
    found = read_label_selector(value, "selector")
    assert isinstance(found, LabelSelector)
    return found


def expression(operator: str, *values: str, key: str = "app") -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize("padding", [pytest.param((), id="few"), pytest.param(PADDING, id="many")])
@pytest.mark.parametrize(
    ("value", "labels", "matches"),
    [
        pytest.param(None, {"app": "a"}, False, id="an absent selector matches nothing"),
        pytest.param({}, {}, True, id="an empty selector matches everything"),
        pytest.param({"matchLabels": {"app": "a"}}, {"app": "a"}, True, id="label: equal"),
        pytest.param({"matchLabels": {"app": "a"}}, {"app": "b"}, False, id="label: different"),
        pytest.param({"matchLabels": {"app": "a"}}, {}, False, id="label: absent"),
        pytest.param({"matchLabels": {"app": "a", "tier": "x"}}, {"app": "a"}, False, id="labels are ANDed"),
        pytest.param({"matchExpressions": [expression("In", "a", "b")]}, {"app": "b"}, True, id="In: has"),
        pytest.param({"matchExpressions": [expression("In", "a")]}, {}, False, id="In: absent"),
        pytest.param({"matchExpressions": [expression("NotIn", "a")]}, {"app": "a"}, False, id="NotIn: has"),
        pytest.param({"matchExpressions": [expression("NotIn", "a")]}, {}, True, id="NotIn: absent"),
        pytest.param({"matchExpressions": [expression("Exists")]}, {"app": ""}, True, id="Exists: has"),
        pytest.param({"matchExpressions": [expression("Exists")]}, {}, False, id="Exists: absent"),
        pytest.param({"matchExpressions": [expression("DoesNotExist")]}, {"app": ""}, False, id="DoesNotExist: has"),
        pytest.param({"matchExpressions": [expression("DoesNotExist")]}, {}, True, id="DoesNotExist: absent"),
        pytest.param(
            {"matchLabels": {"app": "a"}, "matchExpressions": [expression("Exists", key="tier")]},
            {"app": "a"},
            False,
            id="labels and expressions are ANDed",
        ),
        pytest.param(
            {"matchExpressions": [expression("In", "a", "b"), expression("NotIn", "b")]},
            {"app": "b"},
            False,
            id="two expressions of one key",
        ),
    ],
)
def test_selector_matches_labels_only_if_every_requirement_matches(
    value: object, labels: dict[str, str], matches: bool, padding: tuple[Requirement, ...]
) -> None:
    assert selector(value).narrowed(padding).matches(labels) is matches


@pytest.mark.parametrize(
    ("found", "everything"),
    [
        pytest.param(EVERYTHING, True, id="empty"),
        pytest.param(NOTHING, False, id="absent"),
        pytest.param(LabelSelector(PADDING), False, id="with requirements"),
    ],
)
def test_only_the_empty_selector_matches_everything(found: LabelSelector, everything: bool) -> None:
    assert found.everything is everything


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        pytest.param({"matchExpressions": [expression("Gt", "1")]}, "not a valid label selector operator", id="Gt"),
        pytest.param({"matchExpressions": [expression("in", "1")]}, "not a valid label selector operator", id="case"),
        pytest.param({"matchExpressions": [expression("In")]}, "In needs values", id="In without values"),
        pytest.param(
            {"matchExpressions": [expression("Exists", "a")]}, "Exists takes no values", id="Exists of values"
        ),
        pytest.param({"matchLabels": {"a b": "1"}}, "a key is no label key", id="key"),
        pytest.param({"matchLabels": {"app": "a b"}}, "a value is no label value", id="value"),
    ],
)
def test_error_names_the_invalid_requirement(value: object, cause: str) -> None:
    found = read_label_selector(value, "selector")
    assert isinstance(found, InvalidRequirement)
    assert cause in found.cause


@pytest.mark.parametrize(
    ("value", "field"),
    [
        pytest.param([], "selector is not an object", id="selector"),
        pytest.param({"matchLabels": {"app": 1}}, "selector.matchLabels is not a map of strings", id="labels"),
        pytest.param({"matchExpressions": {}}, "selector.matchExpressions is not a list", id="expressions"),
        pytest.param({"matchExpressions": [{"operator": "In", "values": [1]}]}, "values", id="values"),
    ],
)
def test_error_names_the_malformed_field(value: object, field: str) -> None:
    with pytest.raises(MalformedField, match=field):
        read_label_selector(value, "selector")
