"""Proposals to change the pod: lower requests, and fewer or softer rules about nodes and other pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import EPHEMERAL_STORAGE, MEBIBYTE, MEMORY, shown_amount, units_of
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
MOST_SKEW = 5


def lower_requests(case: Case, shortages: Mapping[str, int]) -> Iterator[Option]:
    """Ask for less of each resource that is short, by what is missing."""
    asked = case.pod.spec.requests.asked
    found = []
    for name, missing in shortages.items():
        left = _rounded(name, asked.get(name, 0) - missing)
        if left <= 0:
            return
        found.append(_lower_request(name, asked[name], left))
    if found:
        yield tuple(found)


def remove_node_selector(case: Case, labels: Mapping[str, str]) -> Iterator[Option]:
    """Without the entries of nodeSelector that the node does not have; without the required node affinity."""
    spec = case.pod.spec
    wrong = [key for key, value in (spec.node_selector or {}).items() if labels.get(key) != value]
    removed = tuple(_remove_entry(key, (spec.node_selector or {})[key]) for key in wrong)
    required = spec.node_affinity.required
    if required is not None and not any(
        not term.invalid and all(each.matches(labels) for each in term.expressions) for term in required.terms
    ):
        removed += (_remove_affinity(),)
    if removed:
        yield removed


def remove_terms(case: Case, field: str) -> Iterator[Option]:
    """Without one of the required terms of podAffinity or podAntiAffinity."""
    kind = ChangeKind.REMOVE_POD_AFFINITY if field == "podAffinity" else ChangeKind.REMOVE_POD_ANTI_AFFINITY
    for index, term in enumerate(_terms(case.pod_object, field)):
        key = term.get("topologyKey")

        def edit(obj: Object, index: int = index) -> None:
            del _terms(obj, field)[index]

        yield (
            Change(
                kind,
                f"remove the pod's required {field} term {index + 1} (topologyKey {key})",
                str(index),
                lambda case, edit=edit: case.with_pod(edit),  # type: ignore[misc]
                details={"index": index, "topologyKey": key},
            ),
        )


def relax_spread(case: Case) -> Iterator[Option]:
    """A larger maxSkew for one of the hard constraints, or a soft constraint in its place."""
    for index, each in enumerate(_constraints(case.pod_object)):
        skew = each.get("maxSkew")
        if each.get("whenUnsatisfiable", HARD) != HARD or not isinstance(skew, int):
            continue
        key = each.get("topologyKey")
        for larger in range(skew + 1, skew + 1 + MOST_SKEW):
            text = f"raise maxSkew of the pod's spread over {key} from {skew} to {larger}"
            yield (_constraint_change(ChangeKind.RAISE_MAX_SKEW, text, index, {"maxSkew": larger}, larger - skew),)
        text = f"make the pod's spread over {key} soft (whenUnsatisfiable: {SOFT})"
        yield (_constraint_change(ChangeKind.SOFTEN_SPREAD, text, index, {"whenUnsatisfiable": SOFT}, 0),)


def _rounded(name: str, units: int) -> int:
    return units // MEBIBYTE * MEBIBYTE if name in (MEMORY, EPHEMERAL_STORAGE) and units > MEBIBYTE else units


def _lower_request(name: str, asked: int, left: int) -> Change:
    before, after = shown_amount(name, asked), shown_amount(name, left)

    def edit(obj: Object) -> None:
        """The container that asks for most of it asks for less. Its limit too, where it was equal."""
        largest = max(_containers(obj), key=lambda each: _requested(each, name), default=None)
        if largest is None:
            return
        units = _requested(largest, name) - (asked - left)
        resources = largest.setdefault("resources", {})
        if not isinstance(resources, dict) or units < 0:
            return
        for part in ("requests", "limits"):
            amounts = resources.get(part)
            if isinstance(amounts, dict) and name in amounts:
                amounts[name] = shown_amount(name, units)

    return Change(
        ChangeKind.LOWER_REQUEST,
        f"lower the pod's request of {name} from {before} to {after}",
        name,
        lambda case: case.with_pod(edit),
        size=(asked - left) / asked,
        details={"resource": name, "from": before, "to": after},
    )


def _requested(container: Object, name: str) -> int:
    resources = container.get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    amount = quantity(requests[name]) if isinstance(requests, dict) and name in requests else None
    return units_of(name, amount) if isinstance(amount, Quantity) else 0


def _remove_entry(key: str, value: str) -> Change:
    def edit(obj: Object) -> None:
        selector = _at(obj, "spec").get("nodeSelector")
        if isinstance(selector, dict):
            selector.pop(key, None)

    return Change(
        ChangeKind.REMOVE_NODE_SELECTOR,
        f"remove {key}={value} from the pod's nodeSelector",
        key,
        lambda case: case.with_pod(edit),
        details={"key": key, "value": value},
    )


def _remove_affinity() -> Change:
    def edit(obj: Object) -> None:
        _at(obj, "spec", "affinity", "nodeAffinity").pop(REQUIRED, None)

    return Change(
        ChangeKind.REMOVE_NODE_AFFINITY,
        "remove the pod's required node affinity",
        "",
        lambda case: case.with_pod(edit),
    )


def _constraint_change(kind: ChangeKind, text: str, index: int, fields: dict[str, object], size: float) -> Change:
    def edit(obj: Object) -> None:
        _constraints(obj)[index].update(fields)

    return Change(
        kind, text, str(index), lambda case: case.with_pod(edit), size=size, details={"index": index, **fields}
    )


def _containers(obj: Object) -> list[Object]:
    return _objects(_at(obj, "spec").get("containers"))


def _constraints(obj: Object) -> list[Object]:
    return _objects(_at(obj, "spec").get("topologySpreadConstraints"))


def _terms(obj: Object, field: str) -> list[Object]:
    found = _at(obj, "spec", "affinity", field).get(REQUIRED)
    return found if isinstance(found, list) else []


def _objects(value: object) -> list[Object]:
    return value if isinstance(value, list) else []


def _at(obj: Object, *path: str) -> Object:
    for name in path:
        found = obj.get(name)
        if not isinstance(found, dict):
            return {}
        obj = found
    return obj
