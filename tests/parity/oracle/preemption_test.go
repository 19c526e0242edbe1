package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func victim(name, cpu, node string, priority int32) *st.PodWrapper {
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return asking(name, cpu).Node(node).Priority(priority).StartTime(start)
}

func TestPreemption(t *testing.T) {
	preemptor := func() *st.PodWrapper { return asking("p", "3").Priority(100) }
	app := map[string]string{"app": "db"}
	for name, c := range map[string]struct {
		pod        *st.PodWrapper
		objects    []any
		candidates map[string]Victims
		tied       []string
		reason     string
	}{
		"no more victims than are needed, the least important first": {
			pod:        preemptor(),
			objects:    []any{node("a"), victim("v1", "1", "a", 1), victim("v2", "1", "a", 2), victim("v3", "1", "a", 3)},
			candidates: map[string]Victims{"a": {[]string{"v2", "v1"}, 0}},
			tied:       []string{"a"},
		},
		"equal nodes tie": {
			pod:        preemptor(),
			objects:    []any{node("a"), node("b"), victim("v1", "2", "a", 1), victim("v2", "2", "b", 1)},
			candidates: map[string]Victims{"a": {[]string{"v1"}, 0}, "b": {[]string{"v2"}, 0}},
			tied:       []string{"a", "b"},
		},
		"a node without violation is better": {
			pod: preemptor(),
			objects: []any{
				node("a"), node("b"), victim("v1", "2", "a", 1).Labels(app), victim("v2", "2", "b", 2), budget(app, 0),
			},
			candidates: map[string]Victims{"a": {[]string{"v1"}, 1}, "b": {[]string{"v2"}, 0}},
			tied:       []string{"b"},
		},
		"pods of the same priority stay": {
			pod:     preemptor(),
			objects: []any{node("a"), victim("v1", "2", "a", 100)},
		},
		"preemptionPolicy Never": {
			pod:     preemptor().PreemptionPolicy("Never"),
			objects: []any{node("a"), victim("v1", "2", "a", 1)},
			reason:  "not eligible due to preemptionPolicy=Never.",
		},
		"the same host port twice on a node: one victim frees it": {
			pod: pod("p").HostPort(80).Priority(100),
			objects: []any{
				node("a"), pod("v1").HostPort(80).Node("a").Priority(200), pod("v2").HostPort(80).Node("a").Priority(1),
			},
			candidates: map[string]Victims{"a": {[]string{"v2"}, 0}},
			tied:       []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := scheduled(t, c.pod, "", c.objects...)
			if answer.Error != nil {
				t.Fatal(*answer.Error)
			}
			same := func(a, b Victims) bool {
				return slices.Equal(a.Victims, b.Victims) && a.NumPDBViolations == b.NumPDBViolations
			}
			got := answer.Preemption
			if !maps.EqualFunc(got.Candidates, c.candidates, same) {
				t.Errorf("got candidates %v, want %v", got.Candidates, c.candidates)
			}
			if !slices.Equal(got.Tied, c.tied) {
				t.Errorf("got tied %v, want %v", got.Tied, c.tied)
			}
			if reason := valueOf(got.Reason); reason != c.reason {
				t.Errorf("got reason %q, want %q", reason, c.reason)
			}
		})
	}
}

// tied repeats criteria of kube-scheduler: every tied node is nominated sooner or later, and no other node is.
func TestAllTiedNodesAreNominated(t *testing.T) {
	objects := []any{
		node("a"), node("b"), node("c"), node("worse"),
		victim("v1", "2", "a", 1), victim("v2", "2", "b", 1), victim("v3", "2", "c", 1), victim("v4", "2", "worse", 2),
	}
	line := encodedCase(t, asking("p", "3").Priority(100), "", objects...)
	asked := newOracle()
	nominated := map[string]bool{}
	for range 200 {
		answer := asked.respond(line).(*Answer)
		if want := []string{"a", "b", "c"}; !slices.Equal(answer.Preemption.Tied, want) {
			t.Fatalf("got tied %v, want %v", answer.Preemption.Tied, want)
		}
		nominated[*answer.Preemption.Nominated] = true
	}
	if got := slices.Sorted(maps.Keys(nominated)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("nominated were %v", got)
	}
}
