package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// score does what prioritizeNodes does without extenders.
func score(ctx context.Context, using *profile, pod *v1.Pod, ran *cycle, answer *Answer) error {
	if status := using.whole.RunPreScorePlugins(ctx, ran.state, pod, ran.feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := using.whole.RunScorePlugins(ctx, ran.state, pod, ran.feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}

	for _, plugin := range scorePlugins {
		answer.Scores[plugin] = make(map[string]int64, len(scores))
		for _, node := range scores {
			answer.Scores[plugin][node.Name] = 0 // for a plugin that skips
		}
	}
	for _, node := range scores {
		for _, weighted := range node.Scores {
			answer.Scores[weighted.Name][node.Name] = weighted.Score / using.weights[weighted.Name]
		}
		answer.Total[node.Name] = node.TotalScore
	}
	return nil
}
