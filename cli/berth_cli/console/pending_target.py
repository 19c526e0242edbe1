"""A pending pod of a snapshot, in the form that `berth explain` uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from berth.scheduling.fields.reading import part
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.console.cluster import ObservedCluster
from berth_cli.explanation.case import Case
from berth_cli.explanation.pod_state import Cause, PodState, pending_cause, read_state
from berth_cli.explanation.target import Target
from berth_cli.sources.attempts import Attempt, attempts_of
from berth_cli.sources.pod_document import pod_document


def pending_target(pod: Pod, observed: ObservedCluster) -> Target:
    """Return the pod, and the cluster without it."""
    without = observed.snapshot.with_changes(Changes(pods_gone=[(pod.node_name, pod.uid)]))
    case = Case(pod, without, selecting=observed.replacements)
    waiting = tuple((each, pending_state(each, observed)) for each in without.unbound.values())
    return Target(case, pending_state(pod, observed), waiting=waiting)


def pending_state(pod: Pod, observed: ObservedCluster) -> PodState:
    """Return the pod's state. A node cache lacks the fields that schedulers write, so its pods count as tried."""
    known, found = observed.pending.get(f"{pod.namespace}/{pod.name}"), dict(pod_document(pod))
    if known is None:
        return replace(read_state(found), was_tried=True, created_at=pod.created_at)
    return read_state({**found, "metadata": known["metadata"], "status": part(known, "status")})


def recorded_cause(target: Target, records: Sequence[Mapping[str, object]]) -> Cause | None:
    """Return why the pod waits although it fits; None if unknown. records: of pods with this name, oldest first."""
    read = [Attempt.model_validate(each) for each in records]
    # Calls for an earlier pod with this name are excluded. A failed call has no UID.
    own = [each for each in read if each.uid in (target.case.pod.uid, "")]
    return pending_cause(target.state, attempts_of(own))
