package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// Case is a cluster and a pod to place in it.
type Case struct {
	// Objects are the cluster, as an API server stores them.
	Objects []json.RawMessage `json:"objects"`
	// Pod is the pending pod. It may be among the objects, too.
	Pod json.RawMessage `json:"pod"`
	// Args are arguments of plugins by plugin name, as in KubeSchedulerConfiguration. Two defaults
	// differ from kube-scheduler's: see profileOf.
	Args map[string]json.RawMessage `json:"args"`
}

// Answer is the outcome of one scheduling cycle.
type Answer struct {
	// Verdicts has the verdict of each node.
	Verdicts map[string]Verdict `json:"verdicts"`
	// Scores of every score plugin for the feasible nodes, normalized and not weighted; 0 if the
	// plugin skipped. Empty unless two nodes or more are feasible.
	Scores map[string]map[string]int64 `json:"scores"`
	// Total is the weighted sum of a node's scores.
	Total map[string]int64 `json:"total"`
	// Preemption is nil unless every node was rejected.
	Preemption *Preemption `json:"preemption"`
	// Error is set if the cycle failed. The results from before the failure are still reported.
	Error *string `json:"error"`
}

// Verdict is the result of all filter plugins together for a node.
type Verdict struct {
	PluginVerdict
	// Plugin is the first plugin that rejected the node, in kube-scheduler's order.
	Plugin *string `json:"plugin"`
	// All has the verdict of each filter plugin when it runs alone.
	All map[string]PluginVerdict `json:"all"`
}

// PluginVerdict is a framework Status without its plugin.
type PluginVerdict struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// Preemption is the result of kube-scheduler's evaluator with every node as candidate.
type Preemption struct {
	// Nominated is kube-scheduler's choice, one of Tied.
	Nominated *string `json:"nominated"`
	// Tied are the nodes among which kube-scheduler chooses at random.
	Tied []string `json:"tied"`
	// Candidates are the nodes on which evictions would make room.
	Candidates map[string]Victims `json:"candidates"`
	// Reason says why the pod may not preempt at all.
	Reason *string `json:"reason"`
}

// Victims are the pods to evict from one node, the most important first.
type Victims struct {
	Victims          []string `json:"victims"`
	NumPDBViolations int64    `json:"numPDBViolations"`
}

// typedObjects has a prototype of each kind that a case may hold.
var typedObjects = map[string]func() runtime.Object{
	"Node":                  func() runtime.Object { return &v1.Node{} },
	"Pod":                   func() runtime.Object { return &v1.Pod{} },
	"Namespace":             func() runtime.Object { return &v1.Namespace{} },
	"Service":               func() runtime.Object { return &v1.Service{} },
	"ReplicationController": func() runtime.Object { return &v1.ReplicationController{} },
	"ReplicaSet":            func() runtime.Object { return &appsv1.ReplicaSet{} },
	"StatefulSet":           func() runtime.Object { return &appsv1.StatefulSet{} },
	"PodDisruptionBudget":   func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"PriorityClass":         func() runtime.Object { return &schedulingv1.PriorityClass{} },
}

// decodedCase is a case with its objects as Go values.
type decodedCase struct {
	objects []runtime.Object
	pod     *v1.Pod
	args    map[string]json.RawMessage
}

// decoder decodes JSON into an object.
type decoder func(raw []byte, object any) error

// decodeLoosely decodes as fast as possible; field names are case-sensitive as everywhere in Kubernetes.
func decodeLoosely(raw []byte, object any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
}

// decodeStrictly rejects what an API server rejects with strict validation: unknown and duplicate fields.
func decodeStrictly(raw []byte, object any) error {
	strictErrors, err := kjson.UnmarshalStrict(raw, object)
	if err != nil {
		return err
	}
	return errors.Join(strictErrors...)
}

func decodeCase(line []byte, decode decoder) (*decodedCase, error) {
	var undecoded Case
	if err := json.Unmarshal(line, &undecoded); err != nil {
		return nil, fmt.Errorf("decoding the case: %w", err)
	}
	decoded := &decodedCase{pod: &v1.Pod{}, args: undecoded.Args}
	if err := decode(undecoded.Pod, decoded.pod); err != nil {
		return nil, fmt.Errorf("decoding the pod: %w", err)
	}
	for index, raw := range undecoded.Objects {
		kind, err := kindOf(raw)
		if err != nil {
			return nil, fmt.Errorf("decoding object %d: %w", index, err)
		}
		newObject, known := typedObjects[kind]
		if !known {
			return nil, fmt.Errorf("object %d: kind %q is not supported", index, kind)
		}
		object := newObject()
		if err := decode(raw, object); err != nil {
			return nil, fmt.Errorf("decoding object %d: %w", index, err)
		}
		decoded.objects = append(decoded.objects, object)
	}
	return decoded, nil
}

// kindOf reads no further than it must: most of the time goes into decoding.
func kindOf(raw []byte) (string, error) {
	tokens := json.NewDecoder(bytes.NewReader(raw))
	if _, err := tokens.Token(); err != nil {
		return "", err
	}
	for tokens.More() {
		name, err := tokens.Token()
		if err != nil {
			return "", err
		}
		if name == "kind" {
			var kind string
			err := tokens.Decode(&kind)
			return kind, err
		}
		var skipped json.RawMessage
		if err := tokens.Decode(&skipped); err != nil {
			return "", err
		}
	}
	return "", errors.New("no kind")
}
