"""Gangs, and the rules by which a pod belongs to a gang.

A pod names its gang in one or several of these ways. The first of them determines the gang:

1. `spec.schedulingGroup.podGroupName`: a PodGroup of Kubernetes (`scheduling.k8s.io`, v1alpha2 or v1beta1).
2. The label `scheduling.x-k8s.io/pod-group`: a PodGroup of coscheduling, with `minMember`.
3. The label `pod-group.scheduling.sigs.k8s.io`: a PodGroup of coscheduling's earlier API group.
4. Berth's annotations: `berth.dev/gang` and `berth.dev/gang-size`.

A pod that gives different names is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from berth.scheduling.objects.pod import Pod
from berth.scheduling.objects.pod_group import (
    GANG_ANNOTATION,
    POD_GROUP_LABELS,
    PodGroup,
    PodGroupApi,
    PodGroupKey,
    gang_names,
    names_gang,
)

SIZE = "berth.dev/gang-size"
TOPOLOGY_KEY = "berth.dev/gang-topology-key"
TIMEOUT = "berth.dev/gang-timeout"
ANNOTATIONS = frozenset({GANG_ANNOTATION, SIZE, TOPOLOGY_KEY, TIMEOUT})

PodGroups = Mapping[PodGroupKey, PodGroup]

MAX_TIMEOUT = 3600
"""The longest timeout, in seconds."""


class GangsConfiguration(BaseModel):
    """The section `gangs`. enabled: filter plans gangs as a whole, and bind binds all members or none.

    timeout: how long an open gang waits for its members, in seconds; a PodGroup or an annotation may set a shorter
    time. maxMembers: a gang with a larger minimum is rejected.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    enabled: bool = Field(default=False, strict=True)
    timeout: float = Field(default=60, ge=1, le=3600, allow_inf_nan=False, strict=True)
    max_members: int = Field(default=1000, ge=1, le=5000, alias="maxMembers", strict=True)


class GangError(StrEnum):
    """The reason on every node if a pod's gang is invalid. Its text is constant (fact 17)."""

    NAME = "gang name is not a name"
    SIZE_NOT_A_NUMBER = "gang size is not a number"
    SIZE_BELOW_ONE = "gang size is below 1"
    SIZES_DIFFER = "gang size differs between members"
    TOPOLOGY_KEY = "gang topology key is not a label key"
    TOPOLOGY_KEYS_DIFFER = "gang topology key differs between members"
    SCHEDULERS_DIFFER = "gang scheduler differs between members"
    TIMEOUT = "gang timeout is not a number of seconds from 1 to 3600"
    TOO_LARGE = "gang is larger than maxMembers"
    LARGER_THAN_CLUSTER = "gang is larger than the cluster"
    NO_POD_GROUP = "gang has no PodGroup"
    POD_GROUP_UNREADABLE = "gang has a PodGroup that cannot be read"
    TWO_GANGS = "pod is in two gangs"


class GangWait(StrEnum):
    """The reason on every node if a gang's member does not get any node of the request. Its text is constant."""

    FOR_MEMBERS = "gang waits for members"
    FOR_ROOM = "gang does not fit"
    FOR_POOL = "gang waits for a floating resource"
    TOO_COSTLY = "gang takes too long to plan"


REASON_OTHER_DOMAIN = "gang has its members in another topology domain"
"""The reason on nodes outside the gang's domain, for a member of a committed gang that has a topology key."""

REASONS: frozenset[str] = frozenset({*GangError, *GangWait, REASON_OTHER_DOMAIN})
"""The reasons for rejecting a member of a gang."""


@dataclass(frozen=True, slots=True, order=True)
class GangKey:
    """The identity of a gang in the cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang as one of its members describes it.

    minimum: how many members are placed together. topology_key: a node label whose value must be equal on the nodes of
    all members; empty for any nodes. timeout: how long an open gang waits for its members, in seconds. priority,
    created_at: the PodGroup's values; None if the members' values count.
    """

    key: GangKey
    minimum: int
    topology_key: str
    timeout: float
    priority: int | None = None
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class InvalidGang:
    """The invalid gang of a pod. key: None unless the pod gives exactly one valid name."""

    error: GangError
    key: GangKey | None = None


@dataclass(frozen=True, slots=True)
class OpenGang:
    """A gang of which at least one member has arrived in bind.

    members: the node of each member that has arrived, by the pod's UID. is_committed: whether these members get their
    Bindings. Any other member is then placed alone.
    """

    key: GangKey
    priority: int
    members: Mapping[str, str] = field(hash=False)
    is_committed: bool = False


NO_OPEN_GANGS: tuple[OpenGang, ...] = ()

_NAME = re.compile(r"[a-z0-9A-Z]([-._a-z0-9A-Z]{0,251}[a-z0-9A-Z])?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?/)?[a-z0-9A-Z]([-._a-z0-9A-Z]{0,61}[a-z0-9A-Z])?")
_INTEGER = re.compile(r"-?[0-9]{1,9}")


def gang_of(pod: Pod, pod_groups: PodGroups, configuration: GangsConfiguration) -> Gang | InvalidGang | None:
    """Return the pod's gang; None if the pod is placed alone; InvalidGang if filter rejects the pod on all nodes."""
    if not configuration.enabled or not names_gang(pod):
        return None
    name, *others = gang_names(pod)
    if others:
        return InvalidGang(GangError.TWO_GANGS)
    key = GangKey(pod.namespace, name)
    if _NAME.fullmatch(name) is None:
        return InvalidGang(GangError.NAME)
    found = _described(pod, key, pod_groups, configuration)
    if found is None or isinstance(found, InvalidGang):
        return found
    if found.minimum < 1:
        return InvalidGang(GangError.SIZE_BELOW_ONE, key)
    if found.minimum > configuration.max_members:
        return InvalidGang(GangError.TOO_LARGE, key)
    if not 1 <= found.timeout <= MAX_TIMEOUT:
        return InvalidGang(GangError.TIMEOUT, key)
    # Other gangs wait for an open gang, so a pod cannot request a longer timeout than the operator allows.
    return replace(found, timeout=min(found.timeout, configuration.timeout))


def _described(
    pod: Pod, key: GangKey, pod_groups: PodGroups, configuration: GangsConfiguration
) -> Gang | InvalidGang | None:
    if pod.spec.scheduling_group:
        return _by_pod_group(PodGroupApi.NATIVE, key, pod_groups, configuration)
    for label, api in POD_GROUP_LABELS.items():
        if label in pod.labels:
            return _by_pod_group(api, key, pod_groups, configuration)
    return _by_annotations(pod.annotations, key, configuration)


def _by_pod_group(
    api: PodGroupApi, key: GangKey, pod_groups: PodGroups, configuration: GangsConfiguration
) -> Gang | InvalidGang | None:
    group = pod_groups.get((api, key.namespace, key.name))
    if group is None:
        return InvalidGang(GangError.NO_POD_GROUP, key)
    if group.defect:
        return InvalidGang(GangError.POD_GROUP_UNREADABLE, key)
    if group.minimum is None:
        return None
    timeout = configuration.timeout if group.timeout is None else group.timeout
    return Gang(key, group.minimum, group.topology_key, timeout, group.priority, group.created_at)


def _by_annotations(
    annotations: Mapping[str, str], key: GangKey, configuration: GangsConfiguration
) -> Gang | InvalidGang:
    size = annotations.get(SIZE, "")
    if _INTEGER.fullmatch(size) is None:
        return InvalidGang(GangError.SIZE_NOT_A_NUMBER, key)
    topology_key = annotations.get(TOPOLOGY_KEY, "")
    if topology_key and _LABEL_KEY.fullmatch(topology_key) is None:
        return InvalidGang(GangError.TOPOLOGY_KEY, key)
    seconds = annotations.get(TIMEOUT)
    if seconds is not None and _INTEGER.fullmatch(seconds) is None:
        return InvalidGang(GangError.TIMEOUT, key)
    timeout = configuration.timeout if seconds is None else float(seconds)
    return Gang(key, int(size), topology_key, timeout)
