package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cluster is a cluster as frameworks see it. Frameworks are kept across cases and refer to the same
// cluster; load replaces its objects with the objects of a case.
type cluster struct {
	*internalcache.Snapshot
	nominations
	informers informers.SharedInformerFactory
}

// nominations are the pods nominated to a node. kube-scheduler's own nominator is part of its queue.
type nominations struct {
	podNominator // never called: nothing is nominated while a case is answered
	podsOfNode   map[string][]fwk.PodInfo
}

// NominatedPodsForNode implements fwk.PodNominator.
func (n *nominations) NominatedPodsForNode(nodeName string) []fwk.PodInfo {
	return n.podsOfNode[nodeName]
}

func newCluster() *cluster {
	return &cluster{
		Snapshot: internalcache.NewEmptySnapshot(),
		// Without a client: the informers never run, load fills their stores.
		informers: informers.NewSharedInformerFactory(nil, 0),
	}
}

// load replaces the cluster's contents with these objects, as the scheduler of this pod sees them.
func (c *cluster) load(objects []runtime.Object, pending *v1.Pod) error {
	byKind := groupByKind(objects)
	if err := c.fillListers(byKind); err != nil {
		return err
	}

	nodes := map[string]bool{}
	for _, node := range byKind.nodes {
		nodes[node.Name] = true
	}
	var placed []*v1.Pod
	c.podsOfNode = map[string][]fwk.PodInfo{}
	for _, pod := range byKind.pods {
		switch {
		case isTerminal(pod) || pod.UID == pending.UID:
		case nodes[pod.Spec.NodeName]:
			placed = append(placed, pod)
		case isNominated(pod, pending.Spec.SchedulerName):
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				return err
			}
			node := pod.Status.NominatedNodeName
			c.podsOfNode[node] = append(c.podsOfNode[node], info)
		}
	}
	c.Snapshot = internalcache.NewSnapshot(placed, byKind.nodes)
	return nil
}

// isTerminal reports whether kube-scheduler's informer leaves the pod out.
func isTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// isNominated reports whether the queue's nominator knows the pod: the scheduler is responsible for
// it, and PreEnqueue does not gate it.
func isNominated(pod *v1.Pod, schedulerName string) bool {
	return pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" &&
		pod.Spec.SchedulerName == schedulerName && len(pod.Spec.SchedulingGates) == 0
}

type objectsByKind struct {
	nodes []*v1.Node
	pods  []*v1.Pod
	// others are the objects for listers, by kind.
	others map[string][]any
}

func groupByKind(objects []runtime.Object) objectsByKind {
	grouped := objectsByKind{others: map[string][]any{}}
	for _, object := range objects {
		switch object := object.(type) {
		case *v1.Node:
			grouped.nodes = append(grouped.nodes, object)
		case *v1.Pod:
			grouped.pods = append(grouped.pods, object)
		default:
			kind := object.GetObjectKind().GroupVersionKind().Kind
			grouped.others[kind] = append(grouped.others[kind], object)
		}
	}
	return grouped
}

func (c *cluster) fillListers(objects objectsByKind) error {
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"Namespace":             c.informers.Core().V1().Namespaces().Informer(),
		"Service":               c.informers.Core().V1().Services().Informer(),
		"ReplicationController": c.informers.Core().V1().ReplicationControllers().Informer(),
		"ReplicaSet":            c.informers.Apps().V1().ReplicaSets().Informer(),
		"StatefulSet":           c.informers.Apps().V1().StatefulSets().Informer(),
		"PodDisruptionBudget":   c.informers.Policy().V1().PodDisruptionBudgets().Informer(),
	} {
		if err := informer.GetStore().Replace(objects.others[kind], ""); err != nil {
			return err
		}
	}
	return nil
}
