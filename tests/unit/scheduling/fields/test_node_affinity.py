"""Node affinity: which nodes a pod requires and prefers, with few terms and with many."""

from __future__ import annotations

import pytest

from berth.scheduling.fields.node_affinity import (
    NO_NODE_AFFINITY,
    NodeAffinity,
    NodeSelector,
    read_node_affinity,
    weights_of,
)
from berth.scheduling.fields.requirements import FEW, InvalidRequirement

Term = dict[str, object]

NODE = "n1"
LABELS = {"zone": "a", "disk": "ssd", "cores": "16", "generation": "007", "empty": ""}
NAMED_N1 = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
NEVER: list[Term] = [{"matchExpressions": [{"key": f"pad-{n}", "operator": "Exists"}]} for n in range(FEW + 1)]
"""Terms that match no node, so that a selector with them is matched by an index."""


def of(key: str, operator: str, *values: str) -> Term:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, *values: str, key: str = "metadata.name") -> Term:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def read(*terms: Term) -> NodeAffinity:
    return read_node_affinity(
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}, "affinity"
    )


def required(*terms: Term) -> NodeSelector:
    found = read(*terms).required
    assert found is not None
    return found


@pytest.mark.parametrize("padding", [pytest.param([], id="few"), pytest.param(NEVER, id="many")])
@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([], False, id="no term"),
        pytest.param([{}], False, id="an empty term"),
        pytest.param([of("zone", "In", "a", "b")], True, id="In"),
        pytest.param([of("zone", "In", "b")], False, id="In: another value"),
        pytest.param([of("zone", "NotIn", "a")], False, id="NotIn"),
        pytest.param([of("rack", "NotIn", "a")], True, id="NotIn: absent"),
        pytest.param([of("zone", "Exists")], True, id="Exists"),
        pytest.param([of("rack", "Exists")], False, id="Exists: absent"),
        pytest.param([of("zone", "DoesNotExist")], False, id="DoesNotExist"),
        pytest.param([of("rack", "DoesNotExist")], True, id="DoesNotExist: absent"),
        pytest.param([of("cores", "Gt", "15")], True, id="Gt"),
        pytest.param([of("cores", "Gt", "16")], False, id="Gt: equal"),
        pytest.param([of("generation", "Gt", "6")], True, id="Gt: leading zeros are no octal"),
        pytest.param([of("cores", "Lt", "17")], True, id="Lt"),
        pytest.param([of("cores", "Lt", "16")], False, id="Lt: equal"),
        pytest.param([of("disk", "Lt", "17")], False, id="Lt: no integer"),
        pytest.param([of("rack", "Lt", "1")], False, id="Lt: absent"),
        pytest.param([of("empty", "Lt", "1")], False, id="Lt: empty"),
        pytest.param([of("rack", "In", "")], False, id="In: absent differs from empty"),
        pytest.param([of("zone", "In", "b"), of("disk", "In", "ssd")], True, id="terms are ORed"),
        pytest.param(
            [{"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "rack", "operator": "Exists"}]}],
            False,
            id="expressions are ANDed",
        ),
        pytest.param([of("zone", "in", "a")], False, id="an invalid term"),
        pytest.param([of("zone", "in", "a"), of("disk", "Exists")], True, id="an invalid term beside another"),
        pytest.param([named("In", NODE)], True, id="name: In"),
        pytest.param([named("In", "n2")], False, id="name: another"),
        pytest.param([named("NotIn", NODE)], False, id="name: NotIn"),
        pytest.param([named("NotIn", "n2")], True, id="name: NotIn another"),
        pytest.param([named("Exists")], False, id="name: Exists is invalid"),
        pytest.param([named("In", NODE, "n2")], False, id="name: two values are invalid"),
        pytest.param([named("In", NODE, key="metadata.uid")], False, id="another field is empty"),
        pytest.param([named("NotIn", NODE, key="metadata.uid")], True, id="another field: NotIn"),
        pytest.param([{**named("In", NODE), **of("rack", "Exists")}], False, id="name and labels are ANDed"),
    ],
)
def test_node_matches_if_any_term_matches(terms: list[Term], matches: bool, padding: list[Term]) -> None:
    assert required(*terms, *padding).matches(LABELS, NODE) is matches


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([named("In", "n1"), named("In", "n2")], {"n1", "n2"}, id="all terms have names"),
        pytest.param([named("In", "n1"), of("zone", "Exists")], None, id="a term without names"),
        pytest.param([named("In", "n1"), {}], None, id="an empty term"),
        pytest.param([named("NotIn", "n1")], None, id="NotIn"),
        pytest.param([named("In", "n1", key="metadata.uid")], None, id="another field"),
        pytest.param([{"matchFields": [NAMED_N1, {**NAMED_N1, "values": ["n2"]}]}], set(), id="names are ANDed"),
        pytest.param([], None, id="no term"),
    ],
)
def test_returns_node_names_only_if_every_term_names_nodes(terms: list[Term], names: set[str] | None) -> None:
    assert required(*terms).node_names == names


def preferred(*weighted: tuple[int, Term]) -> NodeAffinity:
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return read_node_affinity({"preferredDuringSchedulingIgnoredDuringExecution": terms}, "affinity")


@pytest.mark.parametrize("padding", [pytest.param([], id="few"), pytest.param(NEVER, id="many")])
@pytest.mark.parametrize(
    ("terms", "weight"),
    [
        pytest.param([(5, of("zone", "Exists"))], 5, id="one term"),
        pytest.param([(5, of("zone", "Exists")), (7, of("disk", "Exists"))], 12, id="weights add up"),
        pytest.param([(5, of("rack", "Exists")), (7, named("In", NODE))], 7, id="a term does not match"),
        pytest.param([(5, {})], 0, id="an empty term"),
        pytest.param([(0, of("zone", "in", "a"))], 0, id="weight 0 is not parsed"),
    ],
)
def test_adds_the_weights_of_matching_terms(terms: list[tuple[int, Term]], weight: int, padding: list[Term]) -> None:
    found = preferred(*terms, *((1, term) for term in padding)).preferred
    assert not isinstance(found, InvalidRequirement)
    assert weights_of(found)(LABELS, NODE) == weight


def test_error_names_an_invalid_preferred_term() -> None:
    assert isinstance(preferred((1, of("zone", "in", "a"))).preferred, InvalidRequirement)


def test_absent_affinity_does_not_restrict_nodes() -> None:
    assert read_node_affinity(None, "affinity") is NO_NODE_AFFINITY
    assert preferred().required is None
    assert read().preferred == ()
