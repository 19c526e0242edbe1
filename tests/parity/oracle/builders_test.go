package main

import (
	"encoding/json"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func TestMain(m *testing.M) {
	metrics.Register()
	os.Exit(m.Run())
}

const (
	success      = "Success"
	rejected     = "Unschedulable"
	unresolvable = "UnschedulableAndUnresolvable"
)

// scheduled answers one case without a pipe.
func scheduled(t *testing.T, pod *st.PodWrapper, args string, objects ...any) Answer {
	t.Helper()
	answer, isAnswer := newOracle().respond(encodedCase(t, pod, args, objects...)).(*Answer)
	if !isAnswer {
		t.Fatal("not an answer")
	}
	return *answer
}

func encodedCase(t *testing.T, pod *st.PodWrapper, args string, objects ...any) []byte {
	t.Helper()
	encoded := map[string]any{"pod": pod.Obj(), "profile": "full"}
	var all []any
	for _, object := range objects {
		switch object := object.(type) {
		case *st.PodWrapper:
			object.Obj().Kind = "Pod"
			all = append(all, object.Obj())
		case *st.NodeWrapper:
			object.Obj().Kind = "Node"
			all = append(all, object.Obj())
		default:
			all = append(all, object)
		}
	}
	encoded["objects"] = all
	if args != "" {
		encoded["args"] = json.RawMessage(args)
	}
	line, err := json.Marshal(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func node(name string) *st.NodeWrapper {
	return st.MakeNode().Name(name).Label(v1.LabelHostname, name).Capacity(map[v1.ResourceName]string{
		v1.ResourceCPU: "4", v1.ResourceMemory: "8Gi", v1.ResourcePods: "10",
	})
}

func pod(name string) *st.PodWrapper {
	return st.MakePod().Name(name).Namespace("default").UID(name).SchedulerName("default-scheduler")
}

func asking(name, cpu string) *st.PodWrapper {
	return pod(name).Req(map[v1.ResourceName]string{v1.ResourceCPU: cpu})
}

func namespace(name string, labels map[string]string) *v1.Namespace {
	return &v1.Namespace{
		TypeMeta:   metav1.TypeMeta{Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}
}

func budget(labels map[string]string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: "pdb", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// repelling adds a required anti-affinity term.
func repelling(pod *st.PodWrapper, term v1.PodAffinityTerm) *st.PodWrapper {
	pod.Obj().Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term},
	}}
	return pod
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
