"""Proposals for a gang: its members, its size, and what its pods say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from berth.scheduling.fields.reading import Object
from berth.scheduling.gangs.gang import SIZE, TIMEOUT, TOPOLOGY_KEY, GangError
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import (
    GANG_ANNOTATION,
    POD_GROUP_LABELS,
    PodGroup,
    PodGroupApi,
    gang_names,
    names_pod_group,
)
from berth_cli.explain.case import Case, Edit
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option


def more_members(case: Case, missing: int) -> Iterator[Option]:
    """Let so many gated members go, or create so many; or both."""
    gated = [mate for mate in case.mates if mate.spec.gated]
    released = gated[:missing]
    option: Option = (_ungate(released),) if released else ()
    if len(released) < missing:
        option += (_create(missing - len(released)),)
    yield option


def lower_size(case: Case, before: int, size: int) -> Iterator[Option]:
    """Let fewer members be enough."""
    if 0 < size < before:
        text = f"lower the gang's size from {before} to {size}"
        yield (_with_size(case, size, ChangeKind.LOWER_GANG_SIZE, text, (before - size) / before),)


def corrections(case: Case, error: GangError, most: int) -> Iterator[Option]:
    """What the pod and the other members may say instead of what cannot be planned. most: members of a gang."""
    members = (case.pod, *case.mates)
    by_annotations = not names_pod_group(case.pod)
    match error:
        case GangError.SIZE_NOT_A_NUMBER | GangError.SIZE_BELOW_ONE | GangError.TOO_LARGE:
            yield (_correct_size(case, min(len(members), most)),)
        case GangError.SIZES_DIFFER:
            yield (_correct_size(case, int(_usual(members, SIZE) or len(members))),)
        case GangError.TOPOLOGY_KEYS_DIFFER if by_annotations:
            yield (_annotate(case, TOPOLOGY_KEY, _usual(members, TOPOLOGY_KEY)),)
        case GangError.TOPOLOGY_KEY if by_annotations:
            yield (_annotate(case, TOPOLOGY_KEY, None),)
        case GangError.TIMEOUT if by_annotations:
            yield (_annotate(case, TIMEOUT, None),)
        case GangError.NO_POD_GROUP | GangError.POD_GROUP_UNREADABLE | GangError.TIMEOUT | GangError.TOPOLOGY_KEY:
            yield (_correct_size(case, len(members)),)
        case GangError.TWO_GANGS:
            for source in _sources(case.pod):
                yield (_forget(case, source),)
        case _:
            pass
    yield (_leave(case),)


def _ungate(pods: list[Pod]) -> Change:
    uids = frozenset(pod.uid for pod in pods)
    names = ", ".join(f"{pod.namespace}/{pod.name}" for pod in pods)

    def edit(obj: Object) -> None:
        _part(obj, "spec").pop("schedulingGates", None)

    return Change(
        ChangeKind.UNGATE_MEMBERS,
        f"remove the scheduling gates of {names}",
        "",
        lambda case: case.with_mates(edit, uids),
        size=len(pods),
        details={"pods": [f"{pod.namespace}/{pod.name}" for pod in pods]},
    )


def _create(count: int) -> Change:
    noun = "member" if count == 1 else "members"
    return Change(
        ChangeKind.CREATE_MEMBERS,
        f"create {count} more {noun}",
        "",
        lambda case: case.with_more_members(count),
        size=count,
        details={"count": count},
    )


def _correct_size(case: Case, size: int) -> Change:
    return _with_size(case, size, ChangeKind.CORRECT_GANG, None, 0.0)


def _with_size(case: Case, size: int, kind: ChangeKind, text: str | None, change: float) -> Change:
    details = {"size": size}
    if names_pod_group(case.pod):
        group = _pod_group(case.pod, size)
        text = text or f"let the PodGroup {group.namespace}/{group.name} say that {size} members are placed together"
        return Change(kind, text, "size", lambda case: case.with_pod_group(group), size=change, details=details)
    changed = _annotate(case, SIZE, str(size))
    return Change(kind, text or changed.text, "size", changed.apply, size=change, details=details)


def _pod_group(pod: Pod, size: int) -> PodGroup:
    labels = [api for label, api in POD_GROUP_LABELS.items() if label in pod.labels]
    api = PodGroupApi.NATIVE if pod.spec.scheduling_group else labels[0]
    return PodGroup(api, pod.namespace, gang_names(pod)[0], size)


def _annotate(case: Case, key: str, value: str | None) -> Change:
    """Of every member. None: without the annotation."""

    def edit(obj: Object) -> None:
        annotations = _part(_part(obj, "metadata"), "annotations")
        annotations.pop(key, None)
        if value is not None:
            annotations[key] = value

    whose, named = "every member" if case.mates else "the pod", f"the annotation {key}"
    text = f"remove {named} from {whose}" if value is None else f"set {named} of {whose} to {value}"
    details = {"annotation": key, "to": value}
    return Change(ChangeKind.CORRECT_GANG, text, key, lambda case: case.with_members(edit), details=details)


def _usual(members: tuple[Pod, ...], key: str) -> str | None:
    """The annotation that most members have."""
    [(value, _)] = Counter(pod.annotations.get(key) for pod in members).most_common(1)
    return value


def _sources(pod: Pod) -> Mapping[str, Edit]:
    """Where the pod names a gang, each with an edit that removes it."""
    labels = [label for label in POD_GROUP_LABELS if label in pod.labels]
    found = {f"label {label}": _without(label, "metadata", "labels") for label in labels}
    if GANG_ANNOTATION in pod.annotations:
        found[f"annotation {GANG_ANNOTATION}"] = _without(GANG_ANNOTATION, "metadata", "annotations")
    if pod.spec.scheduling_group:
        found["field spec.schedulingGroup"] = _without("schedulingGroup", "spec")
    return found


def _without(key: str, *path: str) -> Edit:
    def edit(obj: Object) -> None:
        for name in path:
            obj = _part(obj, name)
        obj.pop(key, None)

    return edit


def _forget(case: Case, source: str) -> Change:
    edit = _sources(case.pod)[source]
    text = f"remove the {source} from {case.whom}"
    return Change(ChangeKind.CORRECT_GANG, text, source, lambda case: case.with_pod(edit), details={"removed": source})


def _leave(case: Case) -> Change:
    sources = _sources(case.pod)

    def edit(obj: Object) -> None:
        for each in sources.values():
            each(obj)

    return Change(
        ChangeKind.LEAVE_GANG,
        f"place the pod alone: remove its {' and its '.join(sources)}",
        "",
        lambda case: case.alone_with_pod(edit),
        details={"removed": list(sources)},
    )


def _part(obj: Object, name: str) -> Object:
    """The part of this name, made where it is missing."""
    found = obj.get(name)
    if not isinstance(found, dict):
        found = obj[name] = {}
    return found
