//go:build ignore

package defaultpreemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/berth/record"
	"k8s.io/kubernetes/berth/scheduling"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (pl *DefaultPreemption) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policy.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	nodes := []fwk.NodeInfo{node}
	all, _ := pl.fh.SnapshotSharedLister().NodeInfos().List()
	for _, each := range all {
		if each.Node().Name != node.Node().Name {
			nodes = append(nodes, each)
		}
	}
	plugins := []string{}
	for _, each := range pl.fh.(framework.Framework).ListPlugins().Filter.Enabled {
		plugins = append(plugins, each.Name)
	}
	answer := record.Call("SelectVictimsOnNode", map[string]any{
		"pod": pod, "nodes": scheduling.NodesOf(nodes), "budgets": budgets, "plugins": plugins,
		"nominated": scheduling.NominatedOn(pl.fh, node.Node().Name),
	})
	victims, violations, status := pl.unrecordedSelectVictimsOnNode(ctx, state, pod, node, budgets)
	output := scheduling.StatusOf(status)
	output["victims"], output["violations"] = scheduling.Names(victims), violations
	answer(output)
	return victims, violations, status
}

func (pl *DefaultPreemption) PodEligibleToPreemptOthers(
	ctx context.Context, pod *v1.Pod, status *fwk.Status,
) (bool, string) {
	all, _ := pl.fh.SnapshotSharedLister().NodeInfos().List()
	answer := record.Call("PodEligibleToPreemptOthers", map[string]any{
		"pod": pod, "nodes": scheduling.NodesOf(all), "status": scheduling.StatusOf(status),
	})
	eligible, reason := pl.unrecordedPodEligibleToPreemptOthers(ctx, pod, status)
	answer(reason)
	return eligible, reason
}

func filterPodsWithPDBViolation(pods []fwk.PodInfo, budgets []*policy.PodDisruptionBudget) (violating, others []fwk.PodInfo) {
	answer := record.Call("FilterPodsWithPDBViolation", map[string]any{"pods": podsOf(pods), "budgets": budgets})
	violating, others = unrecordedfilterPodsWithPDBViolation(pods, budgets)
	answer(scheduling.Names(podsOf(violating)))
	return violating, others
}

func podsOf(infos []fwk.PodInfo) []*v1.Pod {
	pods := []*v1.Pod{}
	for _, info := range infos {
		pods = append(pods, info.GetPod())
	}
	return pods
}
