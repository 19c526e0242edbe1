"""Proposals about amounts: what the pod asks for, and what a node says that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.reading import Object, UnreadableObject
from berth.scheduling.fields.resources import EPHEMERAL_STORAGE, MEBIBYTE, MEMORY, is_scalar, shown_amount, units_of
from berth.scheduling.managed_resources.amounts import NoAmount, amount_in
from berth.scheduling.managed_resources.configuration import ManagedResource, NodeSource, SizesSource
from berth.scheduling.managed_resources.counting import Counting, left
from berth.scheduling.managed_resources.demand import PERCENT
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.explain.case import Case, Edit
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

CONTAINERS = ("containers", "initContainers")


def lower_requests(case: Case, node: NodeInfo, shortages: Mapping[str, int]) -> Iterator[Option]:
    """Ask for less of each resource that is short, by what is missing; for none of one that the node does not have."""
    asked = case.pod.spec.requests.asked
    found = []
    for name, missing in shortages.items():
        remaining = rounded(name, asked.get(name, 0) - missing)
        if remaining > 0:
            found.append(lower_request(case, name, remaining))
        elif name in asked and is_scalar(name) and name not in node.allocatable:
            found.append(drop_request(case, name))
        else:
            return
    if found:
        yield tuple(found)


def lower_request(case: Case, name: str, remaining: int) -> Change:
    """Ask for so many units of the resource, which is less than before."""
    asked = case.pod.spec.requests.asked[name]
    before, after = shown_amount(name, asked), shown_amount(name, remaining)
    return Change(
        ChangeKind.LOWER_REQUEST,
        f"lower {case.whose} request of {name} from {before} to {after}",
        name,
        lambda case: case.with_pod(_requesting(name, remaining)),
        size=(asked - remaining) / asked,
        details={"resource": name, "from": before, "to": after},
    )


def drop_request(case: Case, name: str) -> Change:
    """Ask for none of the resource."""
    before = shown_amount(name, case.pod.spec.requests.asked[name])
    return Change(
        ChangeKind.DROP_REQUEST,
        f"remove {case.whose} request of {name} ({before})",
        name,
        lambda case: case.with_pod(_requesting(name, 0)),
        details={"resource": name, "from": before, "to": "0"},
    )


def request_one(case: Case, names: Iterable[str]) -> Iterator[Option]:
    """Ask for one of a resource that the node has."""
    for name in names:

        def edit(obj: Object, name: str = name) -> None:
            containers = _list(_mapping(obj, "spec"), "containers")
            for part in ("requests", "limits"):
                _mapping(_mapping(containers[0], "resources"), part)[name] = "1"

        yield (
            Change(
                ChangeKind.ADD_REQUEST,
                f"let {case.whom} ask for 1 {name}",
                name,
                lambda case, edit=edit: case.with_pod(edit),  # type: ignore[misc]
                details={"resource": name, "to": "1"},
            ),
        )


def drop_requests(case: Case, names: Iterable[str]) -> Iterator[Option]:
    """Ask for none of these resources."""
    found = tuple(drop_request(case, name) for name in sorted(names))
    if found:
        yield found


def rounded(name: str, units: int) -> int:
    """Down to what people write."""
    return units // MEBIBYTE * MEBIBYTE if name in (MEMORY, EPHEMERAL_STORAGE) and units > MEBIBYTE else units


@dataclass(frozen=True, slots=True)
class _Asked:
    """A counted resource as the pod asks for it. name: of the request or of the annotation. amount: in units or per
    cent; None if it cannot be read."""

    resource: ManagedResource
    name: str
    amount: int | None
    is_annotation: bool
    is_percent: bool


def correct_counted_requests(
    case: Case, node: NodeInfo, resources: Iterable[ManagedResource], counting: Counting
) -> Iterator[Option]:
    """Ask for no more of each counted resource than the node has left, one pod may have, and can be counted."""
    capacity = counting.capacity(node)
    room = left(capacity, counting.used(node.pods, capacity))
    found = []
    for asked in _asked(case, resources):
        pools = counting.pools(asked.resource.name, capacity)
        most = max((_most(asked, room[pool], capacity[pool]) for pool in pools), default=0)
        if asked.amount is not None and asked.amount <= most:
            continue
        if most < 1:
            return
        found.append(_ask_for(case, asked, 1 if asked.amount is None else most))
    if found:
        yield tuple(found)


def _asked(case: Case, resources: Iterable[ManagedResource]) -> Iterator[_Asked]:
    requests, annotations = case.pod.spec.requests, case.pod.annotations
    for each in resources:
        if each.requests is not None:
            key = each.requests.pod_annotation
            if key in annotations:
                amount = amount_in(annotations[key])
                yield _Asked(each, key, None if isinstance(amount, NoAmount) else amount, True, False)
            continue
        for name in each.names:
            if name in requests.beyond:
                yield _Asked(each, name, None, False, name != each.name)
            elif requests.asked.get(name):
                yield _Asked(each, name, requests.asked[name], False, name != each.name)


def _most(asked: _Asked, room: int, size: int) -> int:
    """The most of it that fits into a pool with this room."""
    if asked.is_percent:
        return min(PERCENT, room * PERCENT // size)
    limit = asked.resource.pod_limit
    return room if limit is None else min(room, limit)


def _ask_for(case: Case, asked: _Asked, amount: int) -> Change:
    before, after = "" if asked.amount is None else str(asked.amount), str(amount)
    what = f"annotation {asked.name}" if asked.is_annotation else f"request of {asked.name}"

    def edit(obj: Object) -> None:
        if asked.is_annotation:
            _mapping(_mapping(obj, "metadata"), "annotations")[asked.name] = after
        else:
            _requesting(asked.name, amount)(obj)

    if asked.amount is None:
        kind, size, text = ChangeKind.CORRECT_REQUEST, 0.0, f"set {case.whose} {what} to an amount, such as {after}"
    else:
        kind, size = ChangeKind.LOWER_REQUEST, (asked.amount - amount) / asked.amount
        text = f"lower {case.whose} {what} from {before} to {after}"
    details = {"resource": asked.resource.name, "from": before or None, "to": after}
    return Change(kind, text, asked.name, lambda case: case.with_pod(edit), size=size, details=details)


def correct_capacity(
    case: Case, node: NodeInfo, resources: Iterable[ManagedResource], counting: Counting
) -> Iterator[Option]:
    """Let the node say how much it has of what cannot be read: enough for the pods on it and for this one."""
    unreadable = counting.unreadable(node)
    amounts: Counter[str] = Counter()
    for pod in (case.pod, *node.pods):
        amounts.update(held_by(pod, counting))
    found = [change for each in resources if each.name in unreadable for change in _say(node, each, amounts[each.name])]
    if found:
        yield tuple(found)


def counted_shortages(pod: Pod, node: NodeInfo, counting: Counting) -> Mapping[str, int]:
    """What is missing of each counted resource. Of devices it is what the one with the most room lacks."""
    demands = counting.demands(pod)
    if isinstance(demands, UnreadableObject):
        return {}
    capacity = counting.capacity(node)
    room = left(capacity, counting.used(node.pods, capacity))
    found = {}
    for demand in demands:
        pools = counting.pools(demand.resource, capacity)
        missing = [demand.of(capacity[pool]) - room[pool] for pool in pools] or [demand.amount]
        if min(missing) > 0:
            found[demand.resource] = min(missing)
    return found


def held_by(pod: Pod, counting: Counting) -> Mapping[str, int]:
    """The counted resources that a pod asks for."""
    demands = counting.demands(pod)
    return {} if isinstance(demands, UnreadableObject) else {each.resource: each.amount for each in demands}


def _say(node: NodeInfo, resource: ManagedResource, amount: int) -> Iterator[Change]:
    devices = resource.devices
    if devices is None:
        yield _say_amount(node, resource, resource.capacity or NodeSource(allocatable=resource.name), amount)
    elif devices.sizes is not None:
        yield _say_amount(node, resource, devices.sizes, amount)
    elif devices.count is not None and devices.size is not None:
        yield _say_amount(node, resource, devices.count, 1)
        yield _say_amount(node, resource, devices.size, amount)


def _say_amount(node: NodeInfo, resource: ManagedResource, source: NodeSource | SizesSource, amount: int) -> Change:
    allocatable = source.allocatable if isinstance(source, NodeSource) else None
    if allocatable is not None:
        path, key, what = ("status", "allocatable"), allocatable, f"allocatable {allocatable}"
    elif source.node_label is not None:
        path, key, what = ("metadata", "labels"), source.node_label, f"label {source.node_label}"
    else:
        key = source.node_annotation or ""
        path, what = ("metadata", "annotations"), f"annotation {key}"

    def edit(obj: Object) -> None:
        _mapping(_mapping(obj, path[0]), path[1])[key] = str(amount)

    return Change(
        ChangeKind.CORRECT_CAPACITY,
        f"set the {what} of node {node.name} to an amount, {amount} or more",
        key,
        lambda case: case.with_node(node.name, edit),
        node.name,
        details={"resource": resource.name, "to": str(amount)},
    )


def _requesting(name: str, units: int) -> Edit:
    """The containers ask for so much together, each init container for no more. A limit follows its request."""

    def edit(obj: Object) -> None:
        spec = _mapping(obj, "spec")
        units_left = units - _amount(_mapping(spec, "overhead").get(name), name)
        pod_level = _mapping(_mapping(spec, "resources"), "requests")
        if name in pod_level:
            _set(_mapping(spec, "resources"), name, units_left)
        containers = sorted(_list(spec, "containers"), key=lambda each: -_requested(each, name))
        others = sum(_requested(each, name) for each in containers[1:])
        if containers and others + _requested(containers[0], name) > units_left:
            if others > units_left:
                for each in containers[1:]:
                    _set(_mapping(each, "resources"), name, 0)
                others = 0
            _set(_mapping(containers[0], "resources"), name, units_left - others)
        for each in _list(spec, "initContainers"):
            if _requested(each, name) > units_left:
                _set(_mapping(each, "resources"), name, units_left)

    return edit


def _set(resources: Object, name: str, units: int) -> None:
    for part in ("requests", "limits"):
        amounts = resources.get(part)
        if isinstance(amounts, dict) and name in amounts:
            amounts[name] = shown_amount(name, max(0, units))


def _requested(container: Object, name: str) -> int:
    resources = container.get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    return _amount(requests.get(name), name) if isinstance(requests, dict) else 0


def _amount(value: object, name: str) -> int:
    amount = None if value is None else quantity(value)
    return units_of(name, amount) if isinstance(amount, Quantity) else 0


def _list(obj: Object, name: str) -> list[Object]:
    found = obj.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _mapping(obj: Object, name: str) -> Object:
    """The part of this name, made where it is missing."""
    found = obj.get(name)
    if not isinstance(found, dict):
        found = obj[name] = {}
    return found
