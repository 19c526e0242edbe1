package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// profilesKept bounds the memory if arguments keep changing; all of the generator's arguments fit.
const profilesKept = 256

// oracle answers cases one after the other.
type oracle struct {
	cluster  *cluster
	profiles map[string]*profile
}

func newOracle() *oracle {
	return &oracle{cluster: newCluster(), profiles: map[string]*profile{}}
}

func (o *oracle) respond(line []byte) any {
	answer := &Answer{Verdicts: map[string]Verdict{}, Scores: map[string]map[string]int64{}, Total: map[string]int64{}}
	if err := o.schedule(line, answer); err != nil {
		message := err.Error()
		answer.Error = &message
	}
	return answer
}

// schedule goes through a scheduling cycle as Scheduler.schedulePod does, with all nodes.
func (o *oracle) schedule(line []byte, answer *Answer) error {
	decoded, err := decodeCase(line, decodeLoosely)
	if err != nil {
		return err
	}
	using, err := o.profile(decoded.args)
	if err != nil {
		return err
	}
	if err := o.cluster.load(decoded.objects, decoded.pod); err != nil {
		return err
	}
	nodes, err := o.cluster.List()
	if err != nil {
		return err
	}

	ctx := context.Background()
	cycle, err := runFilters(ctx, using.whole, decoded.pod, nodes)
	if err != nil {
		return err
	}
	if answer.Verdicts, err = verdicts(ctx, using, decoded.pod, nodes, cycle); err != nil {
		return err
	}
	switch len(cycle.feasible) {
	case 0:
		answer.Preemption, err = preempt(ctx, using, decoded.pod, cycle)
		return err
	case 1:
		return nil // kube-scheduler does not score the only node
	default:
		return score(ctx, using, decoded.pod, cycle, answer)
	}
}

// profile builds a profile once for the same arguments.
func (o *oracle) profile(args map[string]json.RawMessage) (*profile, error) {
	key, err := json.Marshal(args) // with sorted keys
	if err != nil {
		return nil, err
	}
	if known, ok := o.profiles[string(key)]; ok {
		return known, nil
	}
	built, err := newProfile(o.cluster, args)
	if err != nil {
		return nil, err
	}
	if len(o.profiles) >= profilesKept {
		clear(o.profiles)
	}
	o.profiles[string(key)] = built
	return built, nil
}

// cycle is the state of a scheduling cycle after the filters.
type cycle struct {
	state    fwk.CycleState
	statuses *framework.NodeToStatus
	feasible []fwk.NodeInfo
}

// runFilters does what Scheduler.findNodesThatFitPod does without extenders.
func runFilters(ctx context.Context, using framework.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) (*cycle, error) {
	ran := &cycle{state: framework.NewCycleState(), statuses: framework.NewDefaultNodeToStatus()}
	onlyNodes, status, narrowing := using.RunPreFilterPlugins(ctx, ran.state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, status.AsError()
		}
		ran.statuses.SetAbsentNodesStatus(status)
		return ran, nil
	}

	if nominated, err := using.SnapshotSharedLister().NodeInfos().Get(pod.Status.NominatedNodeName); err == nil {
		if err := ran.runOn(ctx, using, pod, nominated); err != nil {
			return nil, err
		}
	}
	// Verdicts are needed for all nodes, even if the nominated node has passed; the other nodes are
	// feasible only if it has not.
	nominatedPassed := len(ran.feasible) > 0
	for _, node := range nodes {
		name := node.Node().Name
		switch {
		case name == pod.Status.NominatedNodeName:
		case !onlyNodes.AllNodes() && !onlyNodes.NodeNames.Has(name):
			ran.statuses.Set(name, outsidePreFilterResult(narrowing))
		default:
			if err := ran.runOn(ctx, using, pod, node); err != nil {
				return nil, err
			}
		}
	}
	if nominatedPassed {
		ran.feasible = ran.feasible[:1]
	}
	return ran, nil
}

func (c *cycle) runOn(ctx context.Context, using framework.Framework, pod *v1.Pod, node fwk.NodeInfo) error {
	status := using.RunFilterPluginsWithNominatedPods(ctx, c.state, pod, node)
	if status.Code() == fwk.Error {
		return status.AsError()
	}
	if status.IsSuccess() {
		status = fwk.NewStatus(fwk.Success) // rather than nil
		c.feasible = append(c.feasible, node)
	}
	c.statuses.Set(node.Node().Name, status)
	return nil
}

// outsidePreFilterResult is the status of nodes that a PreFilterResult leaves out. kube-scheduler
// names the plugins in the reason only.
func outsidePreFilterResult(narrowing sets.Set[string]) *fwk.Status {
	plugins := sets.List(narrowing)
	reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", plugins)
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason).WithPlugin(strings.Join(plugins, ","))
}
