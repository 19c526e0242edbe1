//go:build ignore

// The functions here replace a plugin's functions of the same names, which are renamed to unrecorded….
package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/berth/scheduling"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

var _ feature.Features

func New(ctx context.Context, args runtime.Object, handle fwk.Handle, features feature.Features) (fwk.Plugin, error) {
	plugin, err := unrecordedNew(ctx, args, handle, features)
	return scheduling.Made(plugin, "plugin", args, handle), err
}

func NewWithoutFeatures(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	plugin, err := unrecordedNewWithoutFeatures(ctx, args, handle)
	return scheduling.Made(plugin, "plugin", args, handle), err
}

func (pl *Plugin) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	result, status := pl.unrecordedPreFilter(ctx, state, pod, nodes)
	scheduling.PreFilter(pl, state, pod, nodes, result, status)
	// A test may check only the state: record the verdicts on all nodes instead. A skipped pod passes on all nodes.
	for _, node := range scheduling.NodesAsked(pl, nodes) {
		if status.IsSuccess() {
			pl.Filter(ctx, state, pod, node)
		} else if status.IsSkip() {
			scheduling.Filter(pl, state, pod, node)(scheduling.StatusOf(nil))
		}
	}
	return result, status
}

func (pl *Plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	answer := scheduling.Filter(pl, state, pod, node)
	status := pl.unrecordedFilter(ctx, state, pod, node)
	answer(scheduling.StatusOf(status))
	return status
}

func (pl *Plugin) AddPod(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, added fwk.PodInfo, on fwk.NodeInfo,
) *fwk.Status {
	status := pl.unrecordedAddPod(ctx, state, pod, added, on)
	for _, node := range scheduling.Moved(pl, state, added, on, true) {
		pl.Filter(ctx, state, pod, node)
	}
	return status
}

func (pl *Plugin) RemovePod(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, removed fwk.PodInfo, on fwk.NodeInfo,
) *fwk.Status {
	status := pl.unrecordedRemovePod(ctx, state, pod, removed, on)
	for _, node := range scheduling.Moved(pl, state, removed, on, false) {
		pl.Filter(ctx, state, pod, node)
	}
	return status
}

func (pl *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	candidates := scheduling.NodesAsked(pl, nodes)
	answer := scheduling.Scores(pl, "PreScore", pod, candidates...)
	status := pl.unrecordedPreScore(ctx, state, pod, nodes)
	output := scheduling.StatusOf(status)
	if status.IsSuccess() && len(candidates) > 0 {
		scores := fwk.NodeScoreList{}
		for _, node := range candidates {
			score, _ := pl.Score(ctx, state, pod, node)
			scores = append(scores, fwk.NodeScore{Name: node.Node().Name, Score: score})
		}
		if extensions := pl.ScoreExtensions(); extensions != nil {
			extensions.NormalizeScore(ctx, state, pod, scores)
		}
		output["scores"] = scores
	}
	answer(output)
	return status
}

func (pl *Plugin) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	answer := scheduling.Scores(pl, "Score", pod, node)
	score, status := pl.unrecordedScore(ctx, state, pod, node)
	output := scheduling.StatusOf(status)
	output["score"] = score
	answer(output)
	return score, status
}
