from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.fields.requirement_index import RequirementIndex, WeightSum
from berth.scheduling.fields.requirements import Operator, Requirement

pytestmark = pytest.mark.long

KEYS = ("a", "b", "c", "d")
VALUES = ("", "x", "y", "1", "2", "-3", "07")


def requirements() -> st.SearchStrategy[Requirement]:
    return st.builds(
        lambda key, operator, values, bound: Requirement(
            key,
            operator,
            frozenset(values) if operator in (Operator.IN, Operator.NOT_IN) else frozenset(),
            bound if operator in (Operator.GT, Operator.LT) else 0,
        ),
        st.sampled_from(KEYS),
        st.sampled_from(Operator),
        st.sets(st.sampled_from(VALUES), min_size=1),
        st.integers(-4, 4),
    )


@given(
    st.lists(st.lists(requirements(), max_size=5), max_size=40),
    st.lists(st.dictionaries(st.sampled_from((*KEYS, "e")), st.sampled_from(VALUES)), min_size=1, max_size=5),
)
def test_index_matches_the_same_conjunctions_as_a_linear_scan(
    conjunctions: list[list[Requirement]], several_labels: list[dict[str, str]]
) -> None:
    index = RequirementIndex(conjunctions)
    for labels in several_labels:
        matching = index.matching(labels)
        found = [bool(matching >> bit & 1) for bit in range(len(conjunctions))]
        assert found == [all(each.matches(labels) for each in conjunction) for conjunction in conjunctions]
        assert matching >> len(conjunctions) == 0


def chosen_values(number: int) -> frozenset[str]:
    """Return one of the non-empty sets of values."""
    mask = 1 + number % (2 ** len(VALUES) - 1)
    return frozenset(value for bit, value in enumerate(VALUES) if mask >> bit & 1)


# Long lists are drawn as bytes, one byte per element: single draws would exceed the limit of a Hypothesis example.
@given(st.binary(min_size=600, max_size=700).map(lambda drawn: [*map(chosen_values, drawn)]), st.sampled_from(VALUES))
def test_index_matches_a_value_in_many_conjunctions(sets: list[frozenset[str]], value: str) -> None:
    index = RequirementIndex([Requirement("a", Operator.IN, values)] for values in sets)
    assert index.matching({"a": value}).bit_count() == sum(value in values for values in sets)


@given(st.binary(min_size=500, max_size=900).map(lambda drawn: [byte % 11 - 5 for byte in drawn]), st.integers(-6, 6))
def test_index_matches_many_numeric_bounds(bounds: list[int], number: int) -> None:
    above = RequirementIndex([Requirement("a", Operator.GT, bound=bound)] for bound in bounds)
    below = RequirementIndex([Requirement("a", Operator.LT, bound=bound)] for bound in bounds)
    assert above.matching({"a": str(number)}).bit_count() == sum(number > bound for bound in bounds)
    assert below.matching({"a": str(number)}).bit_count() == sum(number < bound for bound in bounds)


@given(st.lists(st.tuples(st.integers(-200, 200), st.booleans())))
def test_weight_sum_adds_the_weights_of_the_set_bits(things: list[tuple[int, bool]]) -> None:
    bits = sum(1 << bit for bit, (_, chosen) in enumerate(things) if chosen)
    assert WeightSum([weight for weight, _ in things]).of(bits) == sum(weight for weight, chosen in things if chosen)
