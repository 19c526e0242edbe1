"""Proposes changes of the pod or its gang: lower requests, fewer or softer rules, more or fewer members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import EPHEMERAL_STORAGE, MEBIBYTE, MEMORY, shown_amount, units_of
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import left, resource_of
from berth.scheduling.objects import NodeInfo
from berth_cli.explanation.case import Case, objects_in
from berth_cli.explanation.counterfactuals.change import Change, ChangeKind, Option, at, of_pod
from berth_cli.explanation.pools import PoolShortage

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def lower_requests(case: Case, shortages: Mapping[str, int]) -> Iterator[Option]:
    """Lower the request of each missing resource by the missing amount; not if the request would become 0."""
    asked = case.pod.spec.requests.asked
    lower = {name: _rounded(name, asked.get(name, 0) - missing) for name, missing in shortages.items()}
    if lower and all(amount > 0 for amount in lower.values()):
        yield tuple(_lower_request(case, name, amount) for name, amount in lower.items())


def lower_counted_requests(
    case: Case, node: NodeInfo, resources: Iterable[ManagedResource], counting: Counting
) -> Iterator[Option]:
    """Lower each counted resource's request to the node's free amount, one device's free amount, and the maximum per
    pod."""
    capacity = counting.capacity(node)
    room = left(capacity, counting.used(node.pods, capacity))
    lower = {}
    for each in resources:
        asked = case.pod.spec.requests.asked.get(each.name, 0)
        pools = () if each.is_floating else counting.pools(each.name, capacity)
        most = max((room[pool] for pool in pools), default=asked if each.is_floating else 0)
        lower[each.name] = min(asked, most, asked if each.pod_limit is None else each.pod_limit)
        if asked == lower[each.name]:
            del lower[each.name]
    if lower and all(amount > 0 for amount in lower.values()):
        yield tuple(_lower_request(case, name, amount) for name, amount in lower.items())


def lower_pool_requests(
    case: Case, short: Iterable[PoolShortage], resources: Iterable[ManagedResource]
) -> Iterator[Option]:
    """Lower each request to what is left in the pools for the pod, or for each member."""
    room = [(each.room // case.missing, resource_of(each.pool)) for each in short]
    keys = {each.name: each.requests.pod_annotation for each in resources if each.requests is not None}
    if all(amount > 0 for amount, _ in room):
        lower = {name: amount for amount, name in sorted(room, reverse=True)}
        yield tuple(_lower_request(case, name, amount, keys.get(name, "")) for name, amount in lower.items())


def _rounded(name: str, units: int) -> int:
    """Round down to a typical amount."""
    return units // MEBIBYTE * MEBIBYTE if name in (MEMORY, EPHEMERAL_STORAGE) and units > MEBIBYTE else units


def _lower_request(case: Case, name: str, amount: int, annotation: str = "") -> Change:
    """Lower the pod's request to this many units: reduce the largest container, cap every init container, and lower the
    limits to match. annotation: the one that has the request instead."""
    asked = _amount(case.pod.annotations[annotation], name) if annotation else case.pod.spec.requests.asked[name]
    before, after = shown_amount(name, asked), shown_amount(name, amount)

    def edit(obj: Object) -> None:
        if annotation:
            at(obj, "metadata", "annotations")[annotation] = str(amount)
            return
        spec = at(obj, "spec")
        rest = amount - _amount(at(spec, "overhead").get(name), name)
        _cap(at(spec, "resources"), name, rest)
        containers = sorted(objects_in(spec.get("containers")), key=lambda each: -_requested(each, name))
        for each in containers[:1]:
            _cap(at(each, "resources"), name, rest - sum(_requested(other, name) for other in containers[1:]))
        for each in objects_in(spec.get("initContainers")):
            _cap(at(each, "resources"), name, rest)

    text = f"lower {case.whose} request of {name} from {before} to {after}"
    share, details = (asked - amount) / asked, {"resource": name, "from": before, "to": after}
    return of_pod(ChangeKind.LOWER_REQUEST, text, name, edit, share, **details)


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
    """Remove the nodeSelector entries that the node does not match, without changing the required node affinity."""
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

    text = f"remove {key}={value} from {case.whose} nodeSelector"
    return of_pod(ChangeKind.REMOVE_NODE_SELECTOR, text, key, edit, key=key, value=value)


def remove_affinity(case: Case) -> Change:
    """Remove the required node affinity."""

    def edit(obj: Object) -> None:
        at(obj, "spec", "affinity", "nodeAffinity").pop(REQUIRED, None)

    text = f"remove {case.whose} required node affinity"
    return of_pod(ChangeKind.REMOVE_NODE_SELECTOR, text, "nodeAffinity", edit)


def remove_terms(case: Case, field: str) -> Iterator[Option]:
    """Remove one of the required terms of podAffinity or podAntiAffinity."""
    for index, term in enumerate(objects_in(at(case.pod_object, "spec", "affinity", field).get(REQUIRED))):

        def edit(obj: Object, index: int = index) -> None:
            terms = objects_in(at(obj, "spec", "affinity", field).get(REQUIRED))
            at(obj, "spec", "affinity", field)[REQUIRED] = [*terms[:index], *terms[index + 1 :]]

        key = term.get("topologyKey")
        text = f"remove {case.whose} required {field} term {index + 1} (topologyKey {key})"
        yield (of_pod(ChangeKind.REMOVE_POD_AFFINITY, text, f"{field} {index}", edit, index=index, topologyKey=key),)


def soften_spread(case: Case) -> Iterator[Option]:
    """Change one hard spread constraint to a soft one."""
    for index, each in enumerate(objects_in(at(case.pod_object, "spec").get("topologySpreadConstraints"))):

        def edit(obj: Object, index: int = index) -> None:
            objects_in(at(obj, "spec").get("topologySpreadConstraints"))[index]["whenUnsatisfiable"] = SOFT

        if each.get("whenUnsatisfiable", HARD) == HARD:
            text = f"make {case.whose} spread over {each.get('topologyKey')} soft (whenUnsatisfiable: {SOFT})"
            yield (of_pod(ChangeKind.SOFTEN_SPREAD, text, str(index), edit, index=index),)


def lower_size(before: int, size: int) -> Iterator[Option]:
    """Lower the minimum size of the gang."""
    if 0 < size < before:
        text, share = f"lower the gang's size from {before} to {size}", (before - size) / before
        details = {"size": size}
        yield (
            Change(
                ChangeKind.LOWER_GANG_SIZE, text, "", lambda case: case.with_size(size), size=share, details=details
            ),
        )
