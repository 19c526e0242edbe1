"""Berth's results for a row of upstream's tables.

For each function of upstream, a function here takes the row's input and returns the value to compare with upstream's
output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.local_scores import plugin_scores
from berth.scheduling.fields.node_affinity import read_node_affinity, weights_of
from berth.scheduling.fields.quantity import Quantity, quantity
from berth.scheduling.fields.requirements import InvalidRequirement, Requirement, requirement
from berth.scheduling.fields.resources import counted, read_resource_list
from berth.scheduling.fields.taints import TolerationIndex, read_taints, read_tolerations
from berth.scheduling.framework.plugin import SUCCESS, Code, FilterPlugin, Status
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.score_scaling import default_normalize_score
from berth.scheduling.framework.shipped_profiles import build
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject, read_node, read_pod
from berth.scheduling.objects.cluster import PodDisruptionBudget, Workloads
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from berth.scheduling.preemption.priority import by_importance
from berth.scheduling.preemption.victims import DisruptionBudgets, DryRun, Victims, best_candidates, select_victims
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth.upkeep.wake_up import object_event, pod_events
from berth_cli.placement.scheduler.preemption import ineligible
from berth_cli.sources.dump.objects import read_objects
from tests.upstream.tables.tables import NODE

Object = dict[str, Any]


class Unreadable(Exception):
    """Berth rejects an object or arguments of the row."""


# --- the cluster
def _read(reading: NodeInfo | Pod | UnreadableObject) -> Any:
    if isinstance(reading, UnreadableObject):
        raise Unreadable(reading.cause)
    return reading


def _pod(obj: Object) -> Pod:
    pod: Pod = _read(read_pod(obj))
    return pod


def _pods(objs: Sequence[Object], node: str = "", numbers: Iterator[int] | None = None) -> list[Pod]:
    """Read pods, on this node, and number their UIDs, because upstream's tests leave out UIDs."""
    numbers = numbers or count()
    read = [_pod(obj) for obj in objs]
    return [replace(pod, uid=f"uid-{next(numbers)}", node_name=node or pod.node_name) for pod in read]


def _cluster(given: Object) -> tuple[Snapshot, list[NodeInfo]]:
    """Return the row's nodes in a snapshot, and in their order. A test may leave out a node's name, or the node."""
    numbers, nodes, pods = count(), [], []
    for index, each in enumerate(given["nodes"]):
        obj = each["node"] or {"metadata": {}}
        name = obj["metadata"].get("name") or f"node-{index}"
        node: NodeInfo = _read(read_node({**obj, "metadata": {**obj["metadata"], "name": name}}))
        if node.defect is not None:
            raise Unreadable(node.defect)
        nodes.append(node)
        pods += _pods(each.get("pods") or (), name, numbers)
    for each in given.get("nominated") or ():
        (pod,) = _pods([each], numbers=numbers)
        pods.append(replace(pod, node_name="", nominated_node=nodes[0].name))
    found = read_objects(
        {**obj, "kind": kind} for kind, objs in (given.get("objects") or {}).items() for obj in objs or ()
    )
    snapshot = Snapshot.of(nodes, pods, namespaces=found.namespaces, workloads=Workloads.of(found.workloads))
    return snapshot, [snapshot.nodes[node.name] for node in nodes]


def _plugin(name: str, args: Object | None) -> Any:
    factory = shipped_plugin(name)
    return factory.plugin(factory.args.model_validate(_versioned(args or {})))


def _versioned(args: Any) -> Any:
    """Return arguments with the API's field names: the internal type's fields begin with a capital letter."""
    if isinstance(args, list):
        return [_versioned(each) for each in args]
    if isinstance(args, dict) and all(key[:1].isupper() for key in args):
        return {key[0].lower() + key[1:]: _versioned(each) for key, each in args.items() if each is not None}
    return args


def _status(status: Status) -> Object:
    return _comparable(status.code.value, status.reasons)


def _comparable(code: str, reasons: Sequence[str]) -> Object:
    """Return a comparable status: reasons of extended resources are not ordered, and texts of errors differ."""
    return {"code": code, "reasons": [] if code == Code.ERROR.value else sorted(reasons)}


# --- the plugins
def _verdict(plugin: Any, pod: Pod, snapshot: Snapshot, node: NodeInfo) -> Status:
    """Return the plugin's own verdict on a node, even if its PreFilter excludes the node."""
    if isinstance(plugin, FilterPlugin):
        prepared = plugin.pre_filter(pod)
        if prepared is None or isinstance(prepared, Status):
            return prepared or SUCCESS
        return plugin.filter(prepared.state, node)
    state = plugin.pre_filter(pod, snapshot)
    if isinstance(state, Status):
        return state
    return SUCCESS if state.skips else state.filter(node)


def _filter(given: Object) -> Object:
    snapshot, nodes = _cluster(given)
    plugin = _plugin(given["plugin"], given.get("args"))
    return _status(_verdict(plugin, _pod(given["pod"]), snapshot, nodes[given["node"]]))


def _fits(given: Object) -> bool:
    snapshot, nodes = _cluster(given)
    return _verdict(_plugin(given["plugin"], None), _pod(given["pod"]), snapshot, nodes[0]) is SUCCESS


def _pre_filter(given: Object) -> Object:
    """Return PreFilter's status; a pod that the plugin skips passes on every node, which counts as a success."""
    snapshot, _ = _cluster(given)
    plugin = _plugin(given["plugin"], given.get("args"))
    pod = _pod(given["pod"])
    found = plugin.pre_filter(pod) if isinstance(plugin, FilterPlugin) else plugin.pre_filter(pod, snapshot)
    if isinstance(found, Status):
        return _status(found)
    names = getattr(found, "node_names", None)
    return _status(SUCCESS) | ({} if names is None else {"nodeNames": sorted(names)})


def _candidates(given: Object) -> tuple[Any, Pod, Snapshot, NodeRefs]:
    snapshot, nodes = _cluster(given)
    names = [node.name for node in nodes[: given["candidates"]]]
    plugin = _plugin(given["plugin"], given.get("args"))
    return plugin, _pod(given["pod"]), snapshot, NodeRefs.of(names, snapshot.positions)


def _scores(given: Object, scale: Scale = Scale.TOTALS) -> Object:
    found = plugin_scores(*_candidates(given), scale)
    return _status(found) if isinstance(found, Status) else _status(SUCCESS) | _some(found)


def _some(scores: list[int]) -> Object:
    """Leave out the scores if all are zero, as they are if the plugin skips the pod."""
    return {"scores": scores} if any(scores) else {}


def _score(given: Object) -> Object:
    return _scores(given, Scale.AS_IS)


def _wakes(given: Object) -> bool:
    """Return whether the change wakes a rejected pod. Upstream also wakes the pod if an object's type is wrong."""
    old, new = given["old"], given["new"]
    if isinstance(old, str) or isinstance(new, str):
        return True
    events = {object_event("nodes", new)} if given["kind"] == NODE else set(pod_events(old, new))
    return not events.isdisjoint(_plugin(given["plugin"], None).events_to_register)


# --- preemption
def _budgets(given: Object) -> list[PodDisruptionBudget]:
    return read_objects({**each, "kind": "PodDisruptionBudget"} for each in given["budgets"] or ()).disruption_budgets


def _names(pods: Sequence[Pod]) -> list[str]:
    return [f"{pod.namespace}/{pod.name}" for pod in pods]


def _select_victims(given: Object) -> Object:
    """Return the victims. A test's own filters, which are not plugins of the scheduler, pass: Berth lacks them."""
    snapshot, nodes = _cluster(given)
    pod = _pod(given["pod"])
    plugins = [(_plugin(name, None), 1) for name in given["plugins"] if name in SHIPPED_PLUGINS]
    profile: Profile = build("test", Scale.TOTALS, plugins)
    evaluation = Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot))
    found = select_victims(DryRun.of(evaluation, pod, nodes[0]), pod, DisruptionBudgets(_budgets(given)))
    return {} if found is None else {"victims": sorted(_names(found.pods)), "violations": found.num_pdb_violations}


def _eligible(given: Object) -> str:
    snapshot, _ = _cluster(given)
    pod = _pod(given["pod"])
    code = given["status"]["code"]
    status = next((Status(each) for each in Code if each.value == code), SUCCESS)
    return str(ineligible(pod, snapshot.nodes.get(pod.nominated_node), status) or "")


def _violating(given: Object) -> list[str]:
    return _names(DisruptionBudgets(_budgets(given)).split(_pods(given["pods"]))[0])


def _best_nodes(given: Object) -> list[str]:
    return best_candidates(
        {node: Victims(tuple(_pods(found["pods"])), found["violations"]) for node, found in given["candidates"].items()}
    )


def _is_more_important(given: Object) -> bool:
    one, other = _pods(given["pods"])
    return by_importance(one) < by_importance(other)


# --- the helpers
def _requests(given: Object) -> Object:
    requests = _pod(given["pod"]).spec.requests
    return {"asked": dict(requests.asked), "placed": dict(requests.placed)}


def _resource(given: Object) -> Object:
    requests = _pod(given["pod"]).spec.requests
    return {"requests": dict(requests.placed), "cpu": requests.non_zero_cpu, "memory": requests.non_zero_memory}


def _scored_requests(given: Object) -> Object:
    return dict(_pod(given["pod"]).spec.requests.scored)


def _tolerates(given: Object) -> bool:
    tolerations = TolerationIndex(read_tolerations(given["tolerations"]))
    return all(map(tolerations.tolerates, read_taints(given["taints"])))


def _matches_node(given: Object) -> bool:
    if given["node"] is None:
        return False
    selector = read_node_affinity({"requiredDuringSchedulingIgnoredDuringExecution": given["selector"]}, "").required
    metadata = given["node"]["metadata"]
    return selector is not None and selector.matches(metadata.get("labels") or {}, metadata.get("name", ""))


def _matches_required(given: Object) -> bool:
    required = required_of(_pod(given["pod"]))
    metadata = given["node"]["metadata"]
    node = _read(read_node({"metadata": {**metadata, "name": metadata.get("name") or "node"}}))
    return required is None or required.matches(node)


def _preferred_score(given: Object) -> Object:
    terms = read_node_affinity({"preferredDuringSchedulingIgnoredDuringExecution": given["terms"]}, "").preferred
    if isinstance(terms, InvalidRequirement):
        return {"score": 0, "invalid": True}
    metadata = given["node"]["metadata"]
    return {"score": weights_of(terms)(metadata.get("labels") or {}, metadata.get("name", "")), "invalid": False}


_OPERATORS = {
    "in": "In",
    "=": "In",
    "==": "In",
    "notin": "NotIn",
    "!=": "NotIn",
    "exists": "Exists",
    "!": "DoesNotExist",
    "gt": "Gt",
    "lt": "Lt",
}


def _requirement(given: Object) -> Requirement | InvalidRequirement:
    return requirement(given["key"], _OPERATORS.get(given["operator"], ""), tuple(given["values"] or ()))


def _is_requirement(given: Object) -> bool:
    return not isinstance(_requirement(given), InvalidRequirement)


def _selector_matches(given: Object) -> bool:
    found = map(_requirement, given["requirements"])
    return all(not isinstance(each, InvalidRequirement) and each.matches(given["labels"]) for each in found)


def _default_selector(given: Object) -> str:
    workloads = Workloads.of(
        read_objects({**obj, "kind": kind} for kind, objs in given["objects"].items() for obj in objs or ()).workloads
    )
    selector = workloads.selector_of(_pod(given["pod"]))
    return ",".join(sorted({f"{each.key}={','.join(each.values)}" for each in selector.requirements}))


def _parsed(given: Object) -> Object | None:
    found = quantity(given["text"])
    return {"value": found.value(), "milli": found.milli_value()} if isinstance(found, Quantity) else None


JUDGES: Mapping[str, Callable[[Object], Any]] = {
    "Filter": _filter,
    "PreFilter": _pre_filter,
    "PreScore": _scores,
    "Score": _score,
    "Fits": _fits,
    "QueueingHint": _wakes,
    "SelectVictimsOnNode": _select_victims,
    "PodEligibleToPreemptOthers": _eligible,
    "FilterPodsWithPDBViolation": _violating,
    "PickOneNodeForPreemption": _best_nodes,
    "MoreImportantPod": _is_more_important,
    "PodRequests": _requests,
    "CalculateResource": _resource,
    "ScoredRequests": _scored_requests,
    "ToleratesTaints": _tolerates,
    "MatchNodeSelectorTerms": _matches_node,
    "RequiredNodeAffinity": _matches_required,
    "PreferredSchedulingTerms": _preferred_score,
    "NewRequirement": _is_requirement,
    "SelectorMatches": _selector_matches,
    "DefaultSelector": _default_selector,
    "DefaultNormalizeScore": lambda given: default_normalize_score(given["scores"], reverse=given["reverse"]),
    "ParseQuantity": _parsed,
}


# --- upstream's own answers
def _wanted_status(output: Object) -> Object:
    return _comparable("Success" if output["code"] == "Skip" else output["code"], output["reasons"])


def _wanted_scores(output: Object) -> Object:
    return _wanted_status(output) | _some([each["Score"] for each in output.get("scores") or ()])


def _wanted_resource(output: Object) -> Object:
    resource = output["requests"]
    units = {
        "cpu": resource["MilliCPU"],
        "memory": resource["Memory"],
        "ephemeral-storage": resource["EphemeralStorage"],
        **(resource["ScalarResources"] or {}),
    }
    return {**output, "requests": {name: amount for name, amount in units.items() if amount}}


WANTED: Mapping[str, Callable[[Any], Any]] = {
    "Filter": _wanted_status,
    "PreFilter": lambda output: (
        _wanted_status(output) | ({"nodeNames": sorted(output["nodeNames"])} if "nodeNames" in output else {})
    ),
    "PreScore": _wanted_scores,
    "Score": lambda output: _wanted_status(output) | _some([output["score"]]),
    "SelectVictimsOnNode": lambda output: (
        {"victims": sorted(output["victims"]), "violations": output["violations"]} if output["victims"] else {}
    ),
    "PodRequests": lambda output: {kind: counted(read_resource_list(found, kind)) for kind, found in output.items()},
    "CalculateResource": _wanted_resource,
}
"""Maps a function to the part of its output that is compared; for other functions, the whole output is compared."""

ACCEPTED: Mapping[str, Callable[[Any, Any], bool]] = {
    "PickOneNodeForPreemption": lambda wanted, got: wanted in got,
    "QueueingHint": lambda wanted, got: got or not wanted,
}
"""Maps a function to the check of Berth's answer, which accepts any of equal nodes, or an unnecessary wake-up."""
