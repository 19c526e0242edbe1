"""Proposes changes of the pod or its gang: lower requests, fewer or softer rules, more or fewer members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import EPHEMERAL_STORAGE, MEBIBYTE, MEMORY, shown_amount, units_of
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case, objects_in
from berth_cli.explanation.counterfactuals.change import Change, ChangeKind, Option, at, of_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPREAD, SOFT = "topologySpreadConstraints", "ScheduleAnyway"


def lower_requests(case: Case, amounts: Mapping[str, int]) -> Iterator[Option]:
    """Lower the request of each resource to this amount; not if one would become 0."""
    asked = case.pod.spec.requests.asked
    lower = {name: _rounded(name, amount) for name, amount in amounts.items()}
    if lower and all(0 < amount < asked.get(name, 0) for name, amount in lower.items()):
        yield tuple(_lower_request(case, name, asked[name], amount) for name, amount in lower.items())


def _rounded(name: str, units: int) -> int:
    """Round down to a typical amount."""
    return units // MEBIBYTE * MEBIBYTE if name in (MEMORY, EPHEMERAL_STORAGE) and units > MEBIBYTE else units


def _lower_request(case: Case, name: str, asked: int, amount: int) -> Change:
    """Lower the pod's request to this many units: reduce the largest container, cap every init container, and lower the
    limits to match."""
    before, after = shown_amount(name, asked), shown_amount(name, amount)

    def edit(obj: Object) -> None:
        spec = at(obj, "spec")
        rest = amount - _amount(at(spec, "overhead").get(name), name)
        _cap(at(spec, "resources"), name, rest)
        containers = sorted(objects_in(spec.get("containers")), key=lambda each: -_requested(each, name))
        for each in containers[:1]:
            _cap(at(each, "resources"), name, rest - sum(_requested(other, name) for other in containers[1:]))
        for each in objects_in(spec.get("initContainers")):
            _cap(at(each, "resources"), name, rest)

    text = f"lower {case.whom}'s request of {name} from {before} to {after}"
    details = {"resource": name, "from": before, "to": after}
    return of_pod(ChangeKind.LOWER_REQUEST, text, name, edit, (asked - amount) / asked, **details)


def _cap(resources: Object, name: str, units: int) -> None:
    """Cap the request and the limit at `units`."""
    if _requested({"resources": resources}, name) > units:
        for amounts in (at(resources, "requests"), at(resources, "limits")):
            if name in amounts:
                amounts[name] = shown_amount(name, max(0, units))


def _requested(container: Object, name: str) -> int:
    return _amount(at(container, "resources", "requests").get(name), name)


def _amount(value: object, name: str) -> int:
    amount = None if value is None else quantity(value)
    return units_of(name, amount) if isinstance(amount, Quantity) else 0


def remove_node_selector(case: Case, labels: Mapping[str, str]) -> Iterator[Option]:
    """Remove the nodeSelector entries that the node does not match, and the required node affinity if it does not
    match."""
    spec = case.pod.spec
    wrong = {key: value for key, value in (spec.node_selector or {}).items() if labels.get(key) != value}
    removed = tuple(_remove_entry(case, key, value) for key, value in wrong.items())
    required = spec.node_affinity.required
    if required is not None and not any(
        not term.invalid and all(each.matches(labels) for each in term.expressions) for term in required.terms
    ):
        removed += (remove_affinity(case),)
    if removed:
        yield removed


def _remove_entry(case: Case, key: str, value: str) -> Change:
    def edit(obj: Object) -> None:
        at(obj, "spec", "nodeSelector").pop(key, None)

    text = f"remove {key}={value} from {case.whom}'s nodeSelector"
    return of_pod(ChangeKind.REMOVE_NODE_SELECTOR, text, key, edit, key=key, value=value)


def remove_affinity(case: Case) -> Change:
    """Remove the required node affinity."""

    def edit(obj: Object) -> None:
        at(obj, "spec", "affinity", "nodeAffinity").pop(REQUIRED, None)

    text = f"remove {case.whom}'s required node affinity"
    return of_pod(ChangeKind.REMOVE_NODE_SELECTOR, text, "nodeAffinity", edit)


def remove_term(case: Case, name: str) -> Iterator[Option]:
    """Remove one of the required terms of podAffinity or podAntiAffinity."""
    for index, term in enumerate(_terms(case.object_of_pod, "affinity", name, REQUIRED)):

        def edit(obj: Object, index: int = index) -> None:
            del _terms(obj, "affinity", name, REQUIRED)[index]

        key = term.get("topologyKey")
        text = f"remove {case.whom}'s required {name} term {index + 1} (topologyKey {key})"
        yield (of_pod(ChangeKind.REMOVE_POD_AFFINITY, text, f"{name} {index}", edit, index=index, topologyKey=key),)


def soften_spread(case: Case) -> Iterator[Option]:
    """Change one hard spread constraint to a soft one."""
    for index, each in enumerate(_terms(case.object_of_pod, SPREAD)):

        def edit(obj: Object, index: int = index) -> None:
            _terms(obj, SPREAD)[index]["whenUnsatisfiable"] = SOFT

        if each.get("whenUnsatisfiable") != SOFT:
            text = f"make {case.whom}'s spread over {each.get('topologyKey')} soft (whenUnsatisfiable: {SOFT})"
            yield (of_pod(ChangeKind.SOFTEN_SPREAD, text, str(index), edit, index=index),)


def _terms(obj: Object, *path: str) -> list[Object]:
    found = at(obj, "spec", *path[:-1]).get(path[-1])
    return found if isinstance(found, list) else []


def create_members(pod: Pod, count: int) -> Change:
    """Create this many more members of the gang, like the pod."""
    new = [replace(pod, name=f"{pod.name}-new-{at}", uid=f"{pod.uid}.new.{at}") for at in range(1, count + 1)]
    text = f"create {count} more {'member' if count == 1 else 'members'} of the gang"
    return Change(
        ChangeKind.CREATE_MEMBERS, text, "", lambda case: case.with_changes(Changes(pods=new)), details={"count": count}
    )
