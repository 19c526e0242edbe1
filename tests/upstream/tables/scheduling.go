//go:build ignore

// Package scheduling records calls with nodes and pods.
package scheduling

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/berth/record"
)

type setup struct {
	table  string
	args   runtime.Object
	handle fwk.Handle
}

var setups = map[fwk.Plugin]setup{}

// Made stores the table, arguments and handle of a new plugin.
func Made(plugin fwk.Plugin, table string, args runtime.Object, handle fwk.Handle) fwk.Plugin {
	if plugin != nil {
		setups[plugin] = setup{table, args, handle}
	}
	return plugin
}

// seen contains the nodes of a PreFilter call, and the pods that were added and removed since then.
type seen struct {
	nodes []fwk.NodeInfo
	moves []move
}

type move struct {
	pod   *v1.Pod
	node  string
	added bool
}

func (s *seen) Clone() fwk.StateData { return s }

func keyOf(plugin fwk.Plugin) fwk.StateKey { return fwk.StateKey("record/" + plugin.Name()) }

func seenBy(plugin fwk.Plugin, state fwk.CycleState) *seen {
	if state != nil {
		if found, err := state.Read(keyOf(plugin)); err == nil {
			return found.(*seen)
		}
	}
	return &seen{}
}

// PreFilter records a call of PreFilter and stores its nodes.
func PreFilter(
	plugin fwk.Plugin, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, result *fwk.PreFilterResult, status *fwk.Status,
) {
	nodes = present(nodes)
	state.Write(keyOf(plugin), &seen{nodes: nodes})
	output := StatusOf(status)
	if result != nil {
		output["nodeNames"] = result.NodeNames.UnsortedList()
	}
	asked(plugin, "PreFilter", pod, NodesOf(nodes), nil)(output)
}

// Moved stores a pod that was added or removed, and returns the nodes, whose verdicts may change.
func Moved(plugin fwk.Plugin, state fwk.CycleState, pod fwk.PodInfo, on fwk.NodeInfo, added bool) []fwk.NodeInfo {
	found := seenBy(plugin, state)
	moves := append(slices.Clone(found.moves), move{pod.GetPod(), on.Node().Name, added})
	state.Write(keyOf(plugin), &seen{found.nodes, moves})
	return NodesAsked(plugin, found.nodes)
}

// Filter records the input of a call for one node, and returns a function that writes the output.
func Filter(plugin fwk.Plugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) func(output any) {
	if node.Node() == nil {
		return func(any) {}
	}
	found := seenBy(plugin, state)
	nodes := slices.Clone(found.nodes)
	index := indexOf(node, nodes)
	if index < 0 {
		index, nodes = len(nodes), append(nodes, node)
	} else {
		nodes[index] = node
	}
	written := NodesOf(nodes)
	for _, each := range found.moves {
		for _, on := range written {
			on.apply(each)
		}
	}
	return asked(plugin, "Filter", pod, written, map[string]any{"node": index})
}

// node is a node with its pods, in the format of a line.
type node struct {
	Node *v1.Node  `json:"node"`
	Pods []*v1.Pod `json:"pods"`
}

func (n *node) apply(moved move) {
	if n.Node.Name != moved.node {
		return
	}
	// Pods of a test may lack a UID.
	n.Pods = slices.DeleteFunc(n.Pods, func(each *v1.Pod) bool { return each.Name == moved.pod.Name })
	if moved.added {
		n.Pods = append(n.Pods, moved.pod)
	}
}

// Scores records the input of a call for candidates among the nodes of the snapshot.
func Scores(plugin fwk.Plugin, function string, pod *v1.Pod, candidates ...fwk.NodeInfo) func(output any) {
	nodes := slices.Clone(candidates)
	for _, each := range snapshotOf(plugin) {
		if indexOf(each, candidates) < 0 {
			nodes = append(nodes, each)
		}
	}
	return asked(plugin, function, pod, NodesOf(nodes), map[string]any{"candidates": len(candidates)})
}

// NodesAsked returns the nodes with their pods of the snapshot, because a test may give nodes without pods. It returns
// nil if the running test is about another plugin.
func NodesAsked(plugin fwk.Plugin, nodes []fwk.NodeInfo) []fwk.NodeInfo {
	if !record.Runs(setups[plugin].table) {
		return nil
	}
	found, snapshot := present(nodes), snapshotOf(plugin)
	for index, node := range found {
		if at := indexOf(node, snapshot); at >= 0 {
			found[index] = snapshot[at]
		}
	}
	return found
}

func snapshotOf(plugin fwk.Plugin) []fwk.NodeInfo {
	handle := setups[plugin].handle
	if handle == nil || handle.SnapshotSharedLister() == nil {
		return nil
	}
	nodes, _ := handle.SnapshotSharedLister().NodeInfos().List()
	return present(nodes)
}

// present leaves out entries that have only pods and no Node object, as the scheduler's snapshot does.
func present(nodes []fwk.NodeInfo) []fwk.NodeInfo {
	return slices.DeleteFunc(slices.Clone(nodes), func(each fwk.NodeInfo) bool { return each.Node() == nil })
}

func indexOf(node fwk.NodeInfo, nodes []fwk.NodeInfo) int {
	return slices.IndexFunc(nodes, func(each fwk.NodeInfo) bool { return each.Node().Name == node.Node().Name })
}

func asked(plugin fwk.Plugin, function string, pod *v1.Pod, nodes []*node, more map[string]any) func(output any) {
	of := setups[plugin]
	if !record.Runs(of.table) {
		return func(any) {}
	}
	input := map[string]any{
		"plugin": plugin.Name(), "args": of.args, "pod": pod, "nodes": nodes,
	}
	if of.handle != nil && of.handle.SharedInformerFactory() != nil {
		input["objects"] = ObjectsOf(of.handle.SharedInformerFactory())
	}
	for name, value := range more {
		input[name] = value
	}
	return record.Call(function, input)
}

// StatusOf returns a status in the format of a line.
func StatusOf(status *fwk.Status) map[string]any {
	reasons := []string{}
	if status != nil {
		reasons = append(reasons, status.Reasons()...)
	}
	return map[string]any{"code": status.Code().String(), "reasons": reasons}
}

// NodesOf returns nodes with their pods.
func NodesOf(nodes []fwk.NodeInfo) []*node {
	found := []*node{}
	for _, each := range nodes {
		pods := []*v1.Pod{}
		for _, pod := range each.GetPods() {
			pods = append(pods, pod.GetPod())
		}
		found = append(found, &node{each.Node(), PodsOf(pods)})
	}
	return found
}

// PodsOf turns start times of nanoseconds after the epoch into seconds, because JSON times drop fractions of a second.
func PodsOf(pods []*v1.Pod) []*v1.Pod {
	found := []*v1.Pod{}
	for _, pod := range pods {
		if start := pod.Status.StartTime; start != nil && start.Unix() == 0 {
			pod = pod.DeepCopy()
			pod.Status.StartTime = &metav1.Time{Time: time.Unix(start.UnixNano(), 0)}
		}
		found = append(found, pod)
	}
	return found
}

// Names returns the pods' names with their namespaces.
func Names(pods []*v1.Pod) []string {
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	return names
}

// NominatedOn returns the pods that are nominated to a node, if the test has a nominator.
func NominatedOn(handle fwk.Handle, node string) (pods []*v1.Pod) {
	defer func() { _ = recover() }()
	for _, each := range handle.NominatedPodsForNode(node) {
		pods = append(pods, each.GetPod())
	}
	return pods
}

// ObjectsOf returns the objects of the listers whose informers run.
func ObjectsOf(factory informers.SharedInformerFactory) map[string]any {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	namespaces, _ := core.Namespaces().Lister().List(labels.Everything())
	services, _ := core.Services().Lister().List(labels.Everything())
	controllers, _ := core.ReplicationControllers().Lister().List(labels.Everything())
	replicaSets, _ := apps.ReplicaSets().Lister().List(labels.Everything())
	statefulSets, _ := apps.StatefulSets().Lister().List(labels.Everything())
	return map[string]any{
		"Namespace": namespaces, "Service": services, "ReplicationController": controllers, "ReplicaSet": replicaSets,
		"StatefulSet": statefulSets,
	}
}
