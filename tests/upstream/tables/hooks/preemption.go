//go:build ignore

package preemption

import (
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/berth/record"
	"k8s.io/kubernetes/berth/scheduling"
)

func pickOneNodeForPreemption(logger klog.Logger, victims map[string]*extenderv1.Victims, scores []func(node string) int64) string {
	candidates := map[string]any{}
	for node, found := range victims {
		candidates[node] = map[string]any{"pods": scheduling.PodsOf(found.Pods), "violations": found.NumPDBViolations}
	}
	answer := record.Call("PickOneNodeForPreemption", map[string]any{"candidates": candidates})
	node := unrecordedpickOneNodeForPreemption(logger, victims, scores)
	answer(node)
	return node
}

func filterVictimsWithPDBViolation(victims []*victim, budgets []*policy.PodDisruptionBudget) (violating, others []*victim) {
	violating, others = unrecordedfilterVictimsWithPDBViolation(victims, budgets)
	if len(podsOf(victims)) == len(victims) {
		answer := record.Call("FilterPodsWithPDBViolation", map[string]any{"pods": podsOf(victims), "budgets": budgets})
		answer(scheduling.Names(podsOf(violating)))
	}
	return violating, others
}

func podsOf(victims []*victim) []*v1.Pod {
	pods := []*v1.Pod{}
	for _, each := range victims {
		for _, info := range each.pods {
			pods = append(pods, info.GetPod())
		}
	}
	return pods
}
