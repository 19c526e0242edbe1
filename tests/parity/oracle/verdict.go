package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// verdicts returns the statuses of the cycle and the verdict of each filter plugin alone.
func verdicts(
	ctx context.Context, using *profile, pod *v1.Pod, nodes []fwk.NodeInfo, together *cycle,
) (map[string]Verdict, error) {
	reported := make(map[string]Verdict, len(nodes))
	for _, node := range nodes {
		name := node.Node().Name
		status := together.statuses.Get(name)
		verdict := Verdict{PluginVerdict: verdictOf(status), All: make(map[string]PluginVerdict, len(using.single))}
		if plugin := status.Plugin(); plugin != "" {
			verdict.Plugin = &plugin
		}
		reported[name] = verdict
	}
	for plugin, alone := range using.single {
		cycle, err := runFilters(ctx, alone, pod, nodes)
		if err != nil {
			return reported, err
		}
		for name, verdict := range reported {
			verdict.All[plugin] = verdictOf(cycle.statuses.Get(name))
		}
	}
	return reported, nil
}

func verdictOf(status *fwk.Status) PluginVerdict {
	return PluginVerdict{Code: status.Code().String(), Reasons: append([]string{}, status.Reasons()...)}
}
