package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// preempt does what preemption.Evaluator.Preempt does, up to the choice of a node and without the
// evictions. It dry-runs all nodes, whereas kube-scheduler stops after a share of them.
func preempt(ctx context.Context, using *profile, pod *v1.Pod, ran *cycle) (*Preemption, error) {
	found := &Preemption{Tied: []string{}, Candidates: map[string]Victims{}}
	nominatedStatus := ran.statuses.Get(pod.Status.NominatedNodeName)
	if eligible, reason := using.preemption.PodEligibleToPreemptOthers(ctx, pod, nominatedStatus); !eligible {
		found.Reason = &reason
		return found, nil
	}

	nodes, err := ran.statuses.NodesForStatusCode(using.whole.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return found, err
	}
	candidates, err := dryRun(ctx, using, pod, ran, nodes)
	if err != nil || len(candidates) == 0 {
		return found, err
	}

	for _, candidate := range candidates {
		victims := Victims{NumPDBViolations: candidate.Victims().NumPDBViolations}
		for _, victim := range candidate.Victims().Pods {
			victims.Victims = append(victims.Victims, string(victim.UID))
		}
		found.Candidates[candidate.Name()] = victims
	}
	nominated := using.preemption.Evaluator.SelectCandidate(ctx, candidates).Name()
	found.Nominated = &nominated
	found.Tied = tied(candidates)
	if !slices.Contains(found.Tied, nominated) {
		return found, fmt.Errorf("kube-scheduler nominated %s, which is not among the tied %v", nominated, found.Tied)
	}
	return found, nil
}

// dryRun fails, as the evaluator does, only if there was an error and no candidate was found.
func dryRun(
	ctx context.Context, using *profile, pod *v1.Pod, ran *cycle, nodes []fwk.NodeInfo,
) ([]preemption.Candidate, error) {
	budgets, err := podDisruptionBudgets(using)
	if err != nil {
		return nil, err
	}
	all := int32(len(nodes))
	candidates, _, err := using.preemption.Evaluator.DryRunPreemption(ctx, ran.state, pod, nodes, budgets, 0, all)
	if len(candidates) > 0 {
		return candidates, nil
	}
	return nil, err
}

// podDisruptionBudgets lists the budgets by name. The lister has no order, and from 1.37 on the order decides: a victim
// does not debit any budget after the first budget that it violates.
func podDisruptionBudgets(using *profile) ([]*policyv1.PodDisruptionBudget, error) {
	budgets, err := using.preemption.Evaluator.PdbLister.List(labels.Everything())
	slices.SortFunc(budgets, func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return budgets, err
}
