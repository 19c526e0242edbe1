"""The tables of upstream that are compared, and how they are recorded.

The functions of a plugin, or of a package, are replaced by functions of a file in `hooks/`. If a test calls a function
directly, a row is written before the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.upstream.staging import Edit

KUBERNETES, API, MACHINERY = "k8s.io/kubernetes", "k8s.io/api", "k8s.io/apimachinery"
HELPERS = "k8s.io/component-helpers"
NODE, POD = "Node", "Pod"
_FRAMEWORK = "pkg/scheduler/framework"


@dataclass(frozen=True, slots=True)
class Hook:
    """The functions of a file in `hooks/`. functions: those in use; empty: all. receiver: the type of the methods.

    names: by function, its name in this package if it differs.
    """

    file: str
    receiver: str = ""
    functions: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a function's table. before: a regular expression for the line, or lines, that call the function. inputs:
    names and Go expressions. expected: a Go expression."""

    file: str
    before: str
    function: str
    inputs: str
    expected: str
    times: int = 1

    def edit(self) -> Edit:
        call = f'record.Call("{self.function}", map[string]any{{{self.inputs}}})({self.expected})'
        return Edit(rf"^(\t+)({self.before}.*)$", rf"\1{call}" + "\n" + r"\1\2", self.times)


@dataclass(frozen=True, slots=True)
class Table:
    package: str
    hooks: tuple[Hook, ...] = ()
    rows: tuple[Row, ...] = ()
    module: str = KUBERNETES

    @property
    def name(self) -> str:
        """Return the table's name among the differences: nodename, or component-helpers/resource."""
        if self.module != KUBERNETES:
            return f"{self.module.rpartition('/')[2]}/{self.package.removeprefix('pkg/')}"
        return self.package.removeprefix(f"{_FRAMEWORK}/").removeprefix("plugins/").removeprefix("pkg/scheduler/")


def _plugin(folder: str, *hooks: Hook, rows: tuple[Row, ...] = ()) -> Table:
    return Table(f"{_FRAMEWORK}/plugins/{folder}", hooks, rows)


def _methods(receiver: str, functions: str, **names: str) -> Hook:
    return Hook("plugin", receiver, tuple(functions.split()), names)


def _hint(file: str, call: str, plugin: str, kind: str, case: str = "tc", changed: str = "Obj") -> Row:
    """Return a row about the effect of a change of a node or of another pod on a rejected pod."""
    objects = f'"old": {case}.old{changed}, "new": {case}.new{changed}'
    return Row(
        file,
        rf"\w+, err := {call}\(logger,",
        "QueueingHint",
        f'"plugin": "{plugin}", "kind": "{kind}", {objects}',
        f"{case}.expectedHint == fwk.Queue",
    )


def _requests(before: str, pod: str, times: int = 1) -> Row:
    return Row("helpers_test.go", before, "PodRequests", f'"pod": {pod}', f"requestsOf({pod})", times)


TABLES = (
    _plugin(
        "nodeunschedulable",
        _methods("NodeUnschedulable", "New Filter"),
        rows=(
            _hint(
                "node_unschedulable_test.go", r"pl\.isSchedulableAfterNodeChange", "NodeUnschedulable", NODE, "testCase"
            ),
        ),
    ),
    _plugin("nodename", _methods("NodeName", "New Filter")),
    _plugin(
        "tainttoleration",
        _methods("TaintToleration", "New Filter PreScore Score"),
        rows=(_hint("taint_toleration_test.go", r"pl\.isSchedulableAfterNodeChange", "TaintToleration", NODE, "test"),),
    ),
    _plugin(
        "nodeaffinity",
        _methods("NodeAffinity", "New PreFilter Filter PreScore Score"),
        rows=(_hint("node_affinity_test.go", r"p.*\.isSchedulableAfterNodeChange", "NodeAffinity", NODE),),
    ),
    _plugin(
        "nodeports",
        _methods("NodePorts", "New PreFilter Filter"),
        rows=(
            Row(
                "node_ports_test.go",
                r"if Fits\(",
                "Fits",
                '"plugin": "NodePorts", "pod": test.pod, "nodes": scheduling.NodesOf([]fwk.NodeInfo{test.existing})',
                "test.expect",
            ),
            Row(
                "node_ports_test.go",
                r"\w+, err := p.*\.isSchedulableAfterPodDeleted",
                "QueueingHint",
                '"plugin": "NodePorts", "kind": "Pod", "old": tc.oldObj, "new": nil',
                "tc.expectedHint == fwk.Queue",
            ),
        ),
    ),
    _plugin(
        "noderesources",
        _methods("Fit", "New PreFilter Filter PreScore Score", New="NewFit"),
        _methods("BalancedAllocation", "New PreScore Score", New="NewBalancedAllocation"),
        rows=(
            Row(
                "fit_test.go",
                r"if got := isFit\(",
                "Fits",
                '"plugin": "NodeResourcesFit", "pod": tc.pod, "nodes": []any{map[string]any{"node": tc.node}}',
                "tc.expected",
            ),
            Row(
                "resource_allocation_test.go",
                r"var scorer resourceAllocationScorer$",
                "ScoredRequests",
                '"pod": tc.pod',
                "tc.expected",
            ),
            _hint("fit_test.go", r"p.*\.isSchedulableAfterPodEvent", "NodeResourcesFit", POD),
            _hint("fit_test.go", r"p.*\.isSchedulableAfterNodeChange", "NodeResourcesFit", NODE),
        ),
    ),
    _plugin("imagelocality", _methods("ImageLocality", "NewWithoutFeatures Score", NewWithoutFeatures="New")),
    _plugin(
        "podtopologyspread",
        _methods("PodTopologySpread", "New PreFilter Filter AddPod RemovePod PreScore"),
        rows=(
            _hint("plugin_test.go", r"p\.isSchedulableAfterPodChange", "PodTopologySpread", POD, changed=POD),
            _hint("plugin_test.go", r"p\.isSchedulableAfterNodeChange", "PodTopologySpread", NODE, changed=NODE),
        ),
    ),
    _plugin(
        "interpodaffinity",
        _methods("InterPodAffinity", "New PreFilter Filter AddPod RemovePod PreScore"),
        rows=(
            _hint("plugin_test.go", r"p\.isSchedulableAfterPodChange", "InterPodAffinity", POD, changed=POD),
            _hint("plugin_test.go", r"p\.isSchedulableAfterNodeChange", "InterPodAffinity", NODE, changed=NODE),
        ),
    ),
    _plugin("defaultpreemption", Hook("defaultpreemption", "DefaultPreemption")),
    Table(f"{_FRAMEWORK}/preemption", (Hook("preemption"),)),
    _plugin(
        "helper",
        rows=(
            Row(
                "normalize_score_test.go",
                r"scores := fwk.NodeScoreList\{\}",
                "DefaultNormalizeScore",
                '"scores": test.scores, "reverse": test.reverse',
                "test.expectedScores",
            ),
            Row(
                "spread_test.go",
                r"diff := cmp.Diff\(test.expect.String",
                "DefaultSelector",
                '"pod": test.pod, "objects": scheduling.ObjectsOf(fakeInformerFactory)',
                "test.expect.String()",
            ),
        ),
    ),
    Table(
        _FRAMEWORK,
        rows=(
            Row(
                "types_test.go",
                r"if diff := cmp.Diff\((?:tc|tt).expectedResource, res",
                "CalculateResource",
                '"pod": podInfo.Pod',
                'map[string]any{"requests": res.Resource, "cpu": res.Non0CPU, "memory": res.Non0Mem}',
                2,
            ),
        ),
    ),
    Table(
        "pkg/scheduler/util",
        rows=(
            Row(
                "utils_test.go",
                r"got := MoreImportantPod\(",
                "MoreImportantPod",
                '"pods": scheduling.PodsOf([]*v1.Pod{v.p1, v.p2})',
                "v.expected",
            ),
        ),
    ),
    Table(
        "resource",
        (Hook("requests"),),
        (
            _requests(r"resRequests := PodRequests\(tc.pod,", "tc.pod", 2),
            _requests(r"request := PodRequests\(p,", "p"),
            _requests(r"requests := PodRequests\(p,", "p"),
            _requests(r"limits := PodLimits\(p,", "p"),
            _requests(
                r"podReqs := PodRequests\(",
                "getPodLevelResourcesPod(tc.podResources, tc.overhead, tc.containers, tc.initContainers)",
            ),
            _requests(r"request := PodRequests\(tc.pod,", "tc.pod"),
            _requests(r"resRequests := AggregateContainerRequests\(testPod", "testPod"),
        ),
        HELPERS,
    ),
    Table(
        "scheduling/corev1",
        (),
        (
            Row(
                "helpers_test.go",
                r"if got, _ := MatchNodeSelectorTerms\(tt.args.node, tt.args.nodeSelector\); got",
                "MatchNodeSelectorTerms",
                '"node": tt.args.node, "selector": tt.args.nodeSelector',
                "tt.want",
            ),
            Row(
                "helpers_test.go",
                r"_, untolerated := FindMatchingUntoleratedTaint\(",
                "ToleratesTaints",
                '"taints": getFilteredTaints(tc.taints, tc.applyFilter), "tolerations": tc.tolerations',
                "tc.expectTolerated",
            ),
        ),
        HELPERS,
    ),
    Table(
        "scheduling/corev1/nodeaffinity",
        (),
        (
            Row(
                "nodeaffinity_test.go",
                r"nodeSelector, err := NewNodeSelector\(&tt.nodeSelector\)",
                "MatchNodeSelectorTerms",
                '"node": tt.node, "selector": tt.nodeSelector',
                "tt.wantMatch",
            ),
            Row(
                "nodeaffinity_test.go",
                r"prefSchedTerms, err := NewPreferredSchedulingTerms\(tt.prefSchedTerms\)",
                "PreferredSchedulingTerms",
                '"node": tt.node, "terms": tt.prefSchedTerms',
                'map[string]any{"score": tt.wantScore, "invalid": tt.wantErr != nil}',
            ),
            Row(
                "nodeaffinity_test.go",
                r"got, _ := GetRequiredNodeAffinity\(test.pod\)",
                "RequiredNodeAffinity",
                '"node": node, "pod": test.pod',
                "test.want",
            ),
        ),
        HELPERS,
    ),
    Table(
        "core/v1",
        (),
        (
            Row(
                "toleration_test.go",
                r"if tolerated := tc.toleration.ToleratesTaint\(",
                "ToleratesTaints",
                '"taints": []Taint{tc.taint}, "tolerations": []Toleration{tc.toleration}',
                "tc.expectTolerated",
            ),
        ),
        API,
    ),
    Table(
        "pkg/labels",
        (Hook("requirements"),),
        (
            Row(
                "selector_test.go",
                r"_, err := NewRequirement\(rc.Key,",
                "NewRequirement",
                '"key": rc.Key, "operator": rc.Op, "values": rc.Vals.List()',
                "len(rc.WantErr) == 0",
            ),
            Row(
                "selector_test.go",
                r"if match := lsm.Sel.Matches\(",
                "SelectorMatches",
                '"labels": lsm.Set, "requirements": requirementsOf(lsm.Sel)',
                "lsm.Match",
            ),
        ),
        MACHINERY,
    ),
    Table(
        "pkg/api/resource",
        (Hook("quantity"),),
        (
            Row(
                "quantity_test.go",
                r"got, err := ParseQuantity\(item.input\)",
                "ParseQuantity",
                '"text": item.input',
                "unitsOf(item.input)",
                2,
            ),
            Row(
                "quantity_test.go", r"_, err := ParseQuantity\(item\)", "ParseQuantity", '"text": item', "unitsOf(item)"
            ),
        ),
        MACHINERY,
    ),
)
