"""Codes of the reasons for rejecting a node. Programs read the codes; people read the reasons' texts.

A code is never renamed, and its meaning never changes. A program must accept unknown codes, because releases add codes.
Only a release that removes a code raises REASON_CODES_VERSION. docs/reference/events-and-reasons.md lists all codes.
"""

from __future__ import annotations

from enum import StrEnum

REASON_CODES_VERSION = 1


class ReasonCode(StrEnum):
    """The code of a reason that filter or preempt returns. PLUGIN_REASON: a plugin rejected the node without a code."""

    PLUGIN_REASON = "PluginReason"

    # kube-scheduler's own rules
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NAME_MISMATCH = "NodeNameMismatch"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    NODE_AFFINITY_MISMATCH = "NodeAffinityMismatch"
    ADDED_NODE_AFFINITY_MISMATCH = "AddedNodeAffinityMismatch"
    NODE_AFFINITY_CONFLICT = "NodeAffinityConflict"
    NODE_AFFINITY_INVALID = "NodeAffinityInvalid"
    HOST_PORT_TAKEN = "HostPortTaken"
    TOO_MANY_PODS = "TooManyPods"
    INSUFFICIENT_RESOURCE = "InsufficientResource"
    TOPOLOGY_SPREAD_SKEW = "TopologySpreadSkew"
    TOPOLOGY_SPREAD_LABEL_MISSING = "TopologySpreadLabelMissing"
    TOPOLOGY_SPREAD_INVALID = "TopologySpreadInvalid"
    POD_AFFINITY_MISMATCH = "PodAffinityMismatch"
    POD_ANTI_AFFINITY_CONFLICT = "PodAntiAffinityConflict"
    EXISTING_POD_ANTI_AFFINITY_CONFLICT = "ExistingPodAntiAffinityConflict"
    POD_AFFINITY_INVALID = "PodAffinityInvalid"
    NODE_NOT_SELECTED = "NodeNotSelected"

    # Berth's own rules
    PRIORITY_LABEL_MISSING = "PriorityLabelMissing"
    PRIORITY_LABEL_NOT_INTEGER = "PriorityLabelNotInteger"
    NODE_RESERVED = "NodeReserved"
    SEGREGATED_RESOURCE_MISSING = "SegregatedResourceMissing"
    INSUFFICIENT_COUNTED_RESOURCE = "InsufficientCountedResource"
    INSUFFICIENT_FLOATING_RESOURCE = "InsufficientFloatingResource"
    KEPT_FOR_HIGHER_PRIORITY = "KeptForHigherPriority"
    REQUEST_ABOVE_POOL = "RequestAbovePool"
    NODE_WITHOUT_DOMAIN = "NodeWithoutDomain"
    NODE_CAPACITY_UNREADABLE = "NodeCapacityUnreadable"
    REQUEST_UNREADABLE = "RequestUnreadable"
    REQUEST_ABOVE_DEVICE = "RequestAboveDevice"
    REQUEST_ABOVE_POD_LIMIT = "RequestAbovePodLimit"
    NODE_NOT_READY = "NodeNotReady"
    NODE_NOT_RUNNING = "NodeNotRunning"

    # gangs
    GANG_WAITS_FOR_MEMBERS = "GangWaitsForMembers"
    GANG_DOES_NOT_FIT = "GangDoesNotFit"
    GANG_WAITS_FOR_POOL = "GangWaitsForPool"
    GANG_PLACED_ELSEWHERE = "GangPlacedElsewhere"
    GANG_IN_OTHER_DOMAIN = "GangInOtherDomain"
    GANG_INVALID = "GangInvalid"

    # independent of the profile
    NODE_NOT_IN_CACHE = "NodeNotInCache"
    NODE_UNREADABLE = "NodeUnreadable"
    TOO_COSTLY = "TooCostly"

    # preempt
    PREEMPTION_POLICY_NEVER = "PreemptionPolicyNever"
    NOMINATED_NODE_PENDING = "NominatedNodePending"
    VICTIM_NOT_LOWER = "VictimNotLower"
    PREEMPTION_NOT_HELPFUL = "PreemptionNotHelpful"
    NO_ROOM_BY_PREEMPTION = "NoRoomByPreemption"
    NO_VICTIM_NEEDED = "NoVictimNeeded"
    NOT_BEST_CANDIDATE = "NotBestCandidate"
    PART_OF_GANG = "PartOfGang"
    VICTIM_UNREADABLE = "VictimUnreadable"
