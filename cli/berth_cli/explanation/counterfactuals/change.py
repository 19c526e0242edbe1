"""A change of the pod, its gang or the cluster, as an operator would make it. Builds the changes of pods."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import EPHEMERAL_STORAGE, MEBIBYTE, MEMORY, shown_amount, units_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.blockers import PoolShortage
from berth_cli.explanation.case import Case, Edit
from berth_cli.placement.changed_objects import EVERY_NODE
from berth_cli.sources.pod_document import objects_in

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class ChangeKind(StrEnum):
    """The kinds of changes, the smallest first. The names are part of the JSON output."""

    LABEL_NODE = "LabelNode"
    UNCORDON_NODE = "UncordonNode"
    ADD_TOLERATION = "AddToleration"
    LOWER_REQUEST = "LowerRequest"
    CREATE_MEMBERS = "CreateMembers"
    END_PODS = "EndPods"
    RAISE_CAPACITY = "RaiseCapacity"
    REMOVE_NODE_SELECTOR = "RemoveNodeSelector"
    ADD_NODE = "AddNode"


RANK = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """A change. subject: the target apart from the node; equal changes of different nodes have the same subject. apply:
    returns the case after the change; None if it is impossible. node: the changed node; may be empty. size: the sort
    key among changes of one kind. details: data for programs. ended: the UIDs of the pods that end."""

    kind: ChangeKind
    text: str
    subject: str
    apply: Callable[[Case], Case | None]
    node: str = ""
    size: float = 0.0
    details: Mapping[str, object] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()


Option = tuple[Change, ...]
"""Changes that together remove one reason."""


def of_pod(kind: ChangeKind, text: str, subject: str, edit: Edit, size: float = 0.0, **details: object) -> Change:
    """Build a change of the pod, and of gang members with the same spec."""
    return Change(kind, text, subject, lambda case: case.with_pod(edit), size=size, details=details)


def raise_capacity(short: PoolShortage) -> Change:
    """Raise the capacity of a floating pool to the smallest number that works."""
    pool, after = short.pool, short.capacity + short.needed - short.room
    text = f"raise the capacity of {pool} from {short.capacity} to {after}"
    details = {"pool": pool, "from": short.capacity, "to": after}
    kind, subject, to = ChangeKind.RAISE_CAPACITY, pool.partition("=")[0], {pool: after}
    return Change(
        kind, text, subject, lambda case: replace(case, capacities={**case.capacities, **to}), details=details
    )


def size_of(changes: Option) -> tuple[int, int, float]:
    """Return a sort key: the number of changes, then their kinds, then their sizes."""
    return len(changes), sum(RANK[each.kind] for each in changes), sum(each.size for each in changes)


def at(obj: Object, *path: str) -> Object:
    """Return the part of an object at this path; empty if it is missing."""
    for name in path:
        found = obj.get(name)
        obj = found if isinstance(found, dict) else {}
    return obj


def lower_requests(case: Case, amounts: Mapping[str, int]) -> Iterator[Option]:
    """Lower the request of each resource to this amount. Yields nothing if an amount would become 0 or not be lower."""
    asked = case.pod.spec.requests.asked
    lower = {name: amount // _step(name, amount) * _step(name, amount) for name, amount in amounts.items()}
    if lower and all(0 < amount < asked.get(name, 0) for name, amount in lower.items()):
        yield tuple(_lower_request(case, name, asked[name], amount) for name, amount in lower.items())


def lower_members(case: Case, places: Callable[[Option], bool]) -> Iterator[Option]:
    """Lower the requests of a gang's next member and of like members to the largest amounts at which the gang fits."""
    asked = case.pod.spec.requests.asked
    steps = {name: _step(name, amount) for name, amount in asked.items() if amount > _step(name, amount)}
    amounts = dict(steps)

    def lowered(amounts: Mapping[str, int]) -> Option:
        less = {name: amount for name, amount in amounts.items() if amount < asked[name]}
        return next(lower_requests(case, less), ())

    if not amounts or not places(lowered(amounts)):
        return
    for name, step in steps.items():
        most = -(-asked[name] // step)

        def fits(less: int, name: str = name, most: int = most, step: int = step) -> bool:
            return places(lowered({**amounts, name: (most - less) * step}))

        lower = 0 if fits(0) else bisect_left(range(most - 1), True, 1, key=fits)
        amounts[name] = (most - lower) * step
    if (changes := lowered(amounts)) and places(changes):
        yield changes


def _step(name: str, units: int) -> int:
    """Return the step between amounts to try, in units: 1 MiB for memory and storage above 1 MiB, otherwise 1."""
    return MEBIBYTE if name in (MEMORY, EPHEMERAL_STORAGE) and units > MEBIBYTE else 1


def _lower_request(case: Case, name: str, asked: int, amount: int) -> Change:
    """Lower the pod's request to `amount`. Name the changed containers, if there are others, and the overhead."""
    before, after, spec = shown_amount(name, asked), shown_amount(name, amount), at(case.object_of_pod, "spec")
    lowered, overhead = _lower(spec, name, amount), at(spec, "overhead").get(name)
    is_plain = not overhead and len([*objects_in(spec.get("containers")), *objects_in(spec.get("initContainers"))]) == 1
    parts = [] if is_plain else [f"{each} from {own['from']} to {own['to']}" for each, own in lowered.items()]
    parts += [f"overhead {overhead}"] if overhead else []
    more, details = f" ({', '.join(parts)})" if parts else "", {"resource": name, "from": before, "to": after}
    text = f"lower {case.whom}'s request of {name} from {before} to {after}{more}"
    size, kind = (asked - amount) / asked, ChangeKind.LOWER_REQUEST
    return of_pod(
        kind, text, name, lambda obj: _lower(at(obj, "spec"), name, amount), size, **details, containers=lowered
    )


def _lower(spec: Object, name: str, amount: int) -> Mapping[str, Mapping[str, str]]:
    """Lower the pod's request to `amount` in its largest container or sidecar, cap init containers, and lower the
    limits. Return the requests of changed containers before and after."""
    rest = amount - _amount(at(spec, "overhead").get(name), name)
    _cap(at(spec, "resources"), name, rest)
    inits = objects_in(spec.get("initContainers"))
    every = [("sidecar" if each.get("restartPolicy") == "Always" else "init container", each) for each in inits]
    every += [("container", each) for each in objects_in(spec.get("containers"))]
    before = [_requested(each, name) for _, each in every]
    running = [each for kind, each in every if kind != "init container"]
    running.sort(key=lambda each: -_requested(each, name))
    for each in running[:1]:
        _cap(at(each, "resources"), name, rest - sum(_requested(other, name) for other in running[1:]))
    for kind, each in every[: len(inits)]:
        if kind == "sidecar":
            rest -= _requested(each, name)  # it runs beside the init containers after it
        else:
            _cap(at(each, "resources"), name, rest)
    after = [(f"{kind} {each.get('name')}", _requested(each, name)) for kind, each in every]
    changed = ((own, most, less) for (own, less), most in zip(after, before, strict=True) if less < most)
    return {own: {"from": shown_amount(name, most), "to": shown_amount(name, less)} for own, most, less in changed}


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


def fix_selector(case: Case, node: NodeInfo) -> Iterator[Option]:
    """Remove the nodeSelector entries, and the required node affinity, that the node does not match. Yields nothing for
    a pod that selects nodes by name, or that is static or of a DaemonSet."""
    spec, labels = case.pod.spec, node.labels
    removed = tuple(
        _remove(case, key, f"{key}={value} from {case.whom}'s nodeSelector", "nodeSelector")
        for key, value in (spec.node_selector or {}).items()
        if labels.get(key) != value
    )
    required = spec.node_affinity.required
    if required is not None and not required.matches(labels, node.name):
        removed += (_remove(case, REQUIRED, f"{case.whom}'s required node affinity", "affinity", "nodeAffinity"),)
    is_fixed = case.pod.controller_kind in EVERY_NODE or (required is not None and required.node_names is not None)
    if removed and not is_fixed:
        yield removed


def _remove(case: Case, key: str, what: str, *path: str) -> Change:
    def edit(obj: Object) -> None:
        at(obj, "spec", *path).pop(key, None)

    return of_pod(ChangeKind.REMOVE_NODE_SELECTOR, f"remove {what}", key, edit, key=key)


def create_members(pod: Pod, count: int) -> Change:
    """Create this many more members of the gang, like the pod."""
    new = [replace(pod, name=f"{pod.name}-new-{at}", uid=f"{pod.uid}.new.{at}") for at in range(1, count + 1)]
    text = f"create {count} more {'member' if count == 1 else 'members'} of the gang"
    return Change(
        ChangeKind.CREATE_MEMBERS, text, "", lambda case: case.with_changes(Changes(pods=new)), details={"count": count}
    )
