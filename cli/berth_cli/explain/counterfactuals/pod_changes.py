"""Proposals to change the pod: fewer or softer rules about nodes and other pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.scheduling.fields.containers import HostPort
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import NodeInfo
from berth.scheduling.plugins.node_ports import WantedPorts
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
MOST_SKEW = 5


def remove_node_selector(case: Case, labels: Mapping[str, str]) -> Iterator[Option]:
    """Without the entries of nodeSelector that the node does not have; without the required node affinity."""
    spec = case.pod.spec
    wrong = [key for key, value in (spec.node_selector or {}).items() if labels.get(key) != value]
    removed = tuple(_remove_entry(case, key, (spec.node_selector or {})[key]) for key in wrong)
    required = spec.node_affinity.required
    if required is not None and not any(
        not term.invalid and all(each.matches(labels) for each in term.expressions) for term in required.terms
    ):
        removed += (remove_affinity(case),)
    if removed:
        yield removed


def remove_affinity(case: Case) -> Change:
    """Without the required node affinity."""

    def edit(obj: Object) -> None:
        _at(obj, "spec", "affinity", "nodeAffinity").pop(REQUIRED, None)

    return Change(
        ChangeKind.REMOVE_NODE_AFFINITY,
        f"remove {case.whose} required node affinity",
        "",
        lambda case: case.with_pod(edit),
    )


def remove_terms(case: Case, field: str, when: str = REQUIRED) -> Iterator[Option]:
    """Without one of the terms of podAffinity or podAntiAffinity."""
    kind = ChangeKind.REMOVE_POD_AFFINITY if field == "podAffinity" else ChangeKind.REMOVE_POD_ANTI_AFFINITY
    name = "required" if when == REQUIRED else "preferred"
    for index, term in enumerate(_terms(case.pod_object, field, when)):
        key = term.get("topologyKey") or _at(term, "podAffinityTerm").get("topologyKey")

        def edit(obj: Object, index: int = index) -> None:
            del _terms(obj, field, when)[index]

        yield (
            Change(
                kind,
                f"remove {case.whose} {name} {field} term {index + 1} (topologyKey {key})",
                f"{name} {index}",
                lambda case, edit=edit: case.with_pod(edit),  # type: ignore[misc]
                details={"index": index, "topologyKey": key},
            ),
        )


def remove_any_term(case: Case) -> Iterator[Option]:
    """Without one of the terms about other pods: of the pod's rules one cannot be read."""
    for field in ("podAffinity", "podAntiAffinity"):
        for when in (REQUIRED, PREFERRED):
            yield from remove_terms(case, field, when)


def relax_spread(case: Case) -> Iterator[Option]:
    """A larger maxSkew for one of the hard constraints, or a soft constraint in its place."""
    for index, each in enumerate(_constraints(case.pod_object)):
        skew = each.get("maxSkew")
        if each.get("whenUnsatisfiable", HARD) != HARD or not isinstance(skew, int):
            continue
        spread = f"{case.whose} spread over {each.get('topologyKey')}"
        for larger in range(skew + 1, skew + 1 + MOST_SKEW):
            text = f"raise maxSkew of {spread} from {skew} to {larger}"
            yield (_constraint_change(ChangeKind.RAISE_MAX_SKEW, text, index, {"maxSkew": larger}, larger - skew),)
        text = f"make {spread} soft (whenUnsatisfiable: {SOFT})"
        yield (_constraint_change(ChangeKind.SOFTEN_SPREAD, text, index, {"whenUnsatisfiable": SOFT}, 0),)


def remove_spread(case: Case) -> Iterator[Option]:
    """Without one of the constraints: one of them cannot be read."""
    for index, each in enumerate(_constraints(case.pod_object)):

        def edit(obj: Object, index: int = index) -> None:
            del _constraints(obj)[index]

        yield (
            Change(
                ChangeKind.REMOVE_SPREAD,
                f"remove {case.whose} spread over {each.get('topologyKey')}",
                str(index),
                lambda case, edit=edit: case.with_pod(edit),  # type: ignore[misc]
                details={"index": index},
            ),
        )


def remove_host_ports(case: Case, node: NodeInfo) -> Iterator[Option]:
    """Without the host ports that others on the node have."""
    used = node.usage.host_ports
    taken = [port for port in case.pod.spec.host_ports if any(map(WantedPorts((port,)).conflict_with, used))]
    if taken:
        yield tuple(_remove_host_port(case, each) for each in dict.fromkeys(taken))


def _remove_host_port(case: Case, port: HostPort) -> Change:
    def edit(obj: Object) -> None:
        for container in _objects(_at(obj, "spec").get("containers")):
            for each in _objects(container.get("ports")):
                if (each.get("hostPort"), each.get("protocol") or "TCP") == (port.port, port.protocol):
                    del each["hostPort"]

    return Change(
        ChangeKind.REMOVE_HOST_PORT,
        f"give up {case.whose} host port {port.port}/{port.protocol}",
        f"{port.port}/{port.protocol}",
        lambda case: case.with_pod(edit),
        details={"port": port.port, "protocol": port.protocol},
    )


def _remove_entry(case: Case, key: str, value: str) -> Change:
    def edit(obj: Object) -> None:
        selector = _at(obj, "spec").get("nodeSelector")
        if isinstance(selector, dict):
            selector.pop(key, None)

    return Change(
        ChangeKind.REMOVE_NODE_SELECTOR,
        f"remove {key}={value} from {case.whose} nodeSelector",
        key,
        lambda case: case.with_pod(edit),
        details={"key": key, "value": value},
    )


def _constraint_change(kind: ChangeKind, text: str, index: int, fields: dict[str, object], size: float) -> Change:
    def edit(obj: Object) -> None:
        _constraints(obj)[index].update(fields)

    return Change(
        kind, text, str(index), lambda case: case.with_pod(edit), size=size, details={"index": index, **fields}
    )


def _constraints(obj: Object) -> list[Object]:
    return _objects(_at(obj, "spec").get("topologySpreadConstraints"))


def _terms(obj: Object, field: str, when: str) -> list[Object]:
    found = _at(obj, "spec", "affinity", field).get(when)
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
