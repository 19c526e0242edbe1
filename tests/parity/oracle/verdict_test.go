package main

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// rejection is the first plugin that rejects a node, and its verdict; without a plugin, the node passes.
type rejection struct {
	plugin  string
	verdict PluginVerdict
}

func TestVerdicts(t *testing.T) {
	noTeam := &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}
	db := metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	away := v1.PodAffinityTerm{LabelSelector: &db, NamespaceSelector: noTeam, TopologyKey: v1.LabelHostname}

	for name, c := range map[string]struct {
		pod     *st.PodWrapper
		objects []any
		plugin  string
		want    PluginVerdict
	}{
		"the node has room": {
			pod:     asking("p", "1"),
			objects: []any{node("n")},
			want:    PluginVerdict{success, []string{}},
		},
		"the first plugin that rejects is reported": {
			pod:     asking("p", "5"),
			objects: []any{node("n").Unschedulable(true)},
			plugin:  "NodeUnschedulable",
			want:    PluginVerdict{unresolvable, []string{"node(s) were unschedulable"}},
		},
		"more than the node will ever have is unresolvable": {
			pod:     asking("p", "5"),
			objects: []any{node("n")},
			plugin:  "NodeResourcesFit",
			want:    PluginVerdict{unresolvable, []string{"Insufficient cpu"}},
		},
		"more than the node has left is not": {
			pod:     asking("p", "3"),
			objects: []any{node("n"), asking("other", "2").Node("n")},
			plugin:  "NodeResourcesFit",
			want:    PluginVerdict{rejected, []string{"Insufficient cpu"}},
		},
		"finished pods are not seen": {
			pod:     asking("p", "3"),
			objects: []any{node("n"), asking("other", "2").Node("n").Phase(v1.PodSucceeded)},
			want:    PluginVerdict{success, []string{}},
		},
		"a nominated pod of the same priority counts": {
			pod:     asking("p", "3"),
			objects: []any{node("n"), asking("other", "2").NominatedNodeName("n")},
			plugin:  "NodeResourcesFit",
			want:    PluginVerdict{rejected, []string{"Insufficient cpu"}},
		},
		"a nominated pod of another scheduler does not": {
			pod:     asking("p", "3"),
			objects: []any{node("n"), asking("other", "2").NominatedNodeName("n").SchedulerName("other")},
			want:    PluginVerdict{success, []string{}},
		},
		"a gated nominated pod does not": {
			pod:     asking("p", "3"),
			objects: []any{node("n"), asking("other", "2").NominatedNodeName("n").SchedulingGates([]string{"gate"})},
			want:    PluginVerdict{success, []string{}},
		},
		"nodes outside a PreFilterResult are rejected before all plugins": {
			pod:     asking("p", "5").NodeAffinityIn("metadata.name", []string{"gone"}, st.NodeSelectorTypeMatchFields),
			objects: []any{node("n").Unschedulable(true)},
			plugin:  "NodeAffinity",
			want:    PluginVerdict{unresolvable, []string{"node(s) didn't satisfy plugin(s) [NodeAffinity]"}},
		},
		"but the nominated node is filtered": {
			pod: pod("p").NominatedNodeName("n").
				NodeAffinityIn("metadata.name", []string{"gone"}, st.NodeSelectorTypeMatchFields),
			objects: []any{node("n").Unschedulable(true)},
			plugin:  "NodeUnschedulable",
			want:    PluginVerdict{unresolvable, []string{"node(s) were unschedulable"}},
		},
		"a namespaceSelector that no label satisfies": {
			pod: repelling(pod("p"), away),
			objects: []any{
				node("n"), namespace("default", nil), namespace("red", map[string]string{"team": "red"}),
				pod("other").Namespace("red").Label("app", "db").Node("n"),
			},
			plugin: farAway.plugin,
			want:   farAway.verdict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := scheduled(t, c.pod, "", c.objects...)
			if answer.Error != nil {
				t.Fatal(*answer.Error)
			}
			got := answer.Verdicts["n"]
			if got.Code != c.want.Code || !slices.Equal(got.Reasons, c.want.Reasons) {
				t.Errorf("got %v, want %v", got.PluginVerdict, c.want)
			}
			if plugin := valueOf(got.Plugin); plugin != c.plugin {
				t.Errorf("got plugin %q, want %q", plugin, c.plugin)
			}
		})
	}
}

func TestEachPluginIsAlsoAskedAlone(t *testing.T) {
	answer := scheduled(t, asking("p", "5"), "", node("n").Unschedulable(true))
	all := answer.Verdicts["n"].All
	if len(all) != len(filterPlugins) {
		t.Errorf("got verdicts of %d plugins, want %d", len(all), len(filterPlugins))
	}
	for plugin, want := range map[string]string{
		"NodeUnschedulable": unresolvable, "NodeResourcesFit": unresolvable, "NodeName": success,
	} {
		if got := all[plugin].Code; got != want {
			t.Errorf("%s: got %s, want %s", plugin, got, want)
		}
	}
}

func TestConflictingTermsRejectAllNodes(t *testing.T) {
	conflicting := pod("p")
	nameIs := func(name string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}
	}
	conflicting.Obj().Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchFields: []v1.NodeSelectorRequirement{nameIs("a"), nameIs("b")}},
		}},
	}}
	answer := scheduled(t, conflicting, "", node("a"), node("b").Unschedulable(true))
	for name, verdict := range answer.Verdicts {
		if verdict.Code != unresolvable || !slices.Equal(verdict.Reasons, []string{"pod affinity terms conflict"}) {
			t.Errorf("%s: got %v", name, verdict.PluginVerdict)
		}
	}
}

func TestArgsReplaceDefaults(t *testing.T) {
	gpu := v1.ResourceName("example.com/gpu")
	wanting := pod("p").Req(map[v1.ResourceName]string{gpu: "1"})
	ignoring := `{"NodeResourcesFit": {"ignoredResources": ["example.com/gpu"]}}`
	if got := scheduled(t, wanting, "", node("n")).Verdicts["n"].Code; got != unresolvable {
		t.Errorf("without args: got %s", got)
	}
	if got := scheduled(t, wanting, ignoring, node("n")).Verdicts["n"].Code; got != success {
		t.Errorf("with args: got %s", got)
	}
	if answer := scheduled(t, wanting, `{"NodeName": {}}`, node("n")); answer.Error == nil {
		t.Error("arguments for a plugin that has none are not refused")
	}
}
