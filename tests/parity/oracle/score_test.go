package main

import (
	"maps"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func TestScores(t *testing.T) {
	tainted := node("a").Taints([]v1.Taint{{Key: "k", Effect: v1.TaintEffectPreferNoSchedule}})
	answer := scheduled(t, asking("p", "1"), "", tainted, node("b"), asking("other", "1").Node("b"))
	if answer.Error != nil {
		t.Fatal(*answer.Error)
	}
	for plugin, want := range map[string]map[string]int64{
		"TaintToleration": {"a": 0, "b": 100},
		// cpu 75 and memory 97 of a, 50 and 95 of b: every container counts for 200 MiB at least
		"NodeResourcesFit":                {"a": 86, "b": 72},
		"NodeResourcesBalancedAllocation": balanced,
		"InterPodAffinity":                {"a": 0, "b": 0}, // skips
		"PodTopologySpread":               {"a": 0, "b": 0}, // skips
	} {
		if got := answer.Scores[plugin]; !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", plugin, got, want)
		}
	}
	if want := map[string]int64{"a": 86 + balanced["a"], "b": 3*100 + 72 + balanced["b"]}; !maps.Equal(answer.Total, want) {
		t.Errorf("total: got %v, want %v", answer.Total, want)
	}
	if answer.Preemption != nil {
		t.Error("preempts although nodes are feasible")
	}
}

func TestPodLevelRequestsAreNotScoredByNodeResourcesFit(t *testing.T) {
	nodes := []any{node("a"), node("b")}
	plain := scheduled(t, pod("p").Container("c"), "", nodes...)
	large := pod("p").Container("c")
	large.Obj().Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: quantity("3")}}
	withPodLevel := scheduled(t, large, "", nodes...)
	if got, want := withPodLevel.Scores["NodeResourcesFit"], plain.Scores["NodeResourcesFit"]; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// preferringBelowZero prefers nodes by a value that no label can have. An API server stores such a pod.
func preferringBelowZero(pod *st.PodWrapper) *st.PodWrapper {
	below := v1.NodeSelectorRequirement{Key: "k", Operator: v1.NodeSelectorOpLt, Values: []string{"-5"}}
	preference := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{below}}
	return pod.NodeAffinity(&v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: preference}},
	})
}

func TestTheOnlyFeasibleNodeIsNotScored(t *testing.T) {
	unparsable := preferringBelowZero(pod("p"))
	answer := scheduled(t, unparsable, "", node("a"))
	if answer.Error != nil || len(answer.Scores) != 0 {
		t.Errorf("got error %v, scores %v", answer.Error, answer.Scores)
	}
}

func TestUnparsablePreferenceFailsTheCycle(t *testing.T) {
	unparsable := preferringBelowZero(pod("p"))
	answer := scheduled(t, unparsable, "", node("a"), node("b"))
	if answer.Error == nil || !strings.HasPrefix(*answer.Error, `running PreScore plugin "NodeAffinity"`) {
		t.Errorf("got error %v", answer.Error)
	}
	if len(answer.Verdicts) != 2 {
		t.Errorf("got verdicts %v", answer.Verdicts)
	}
}
