package main

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// notStarted is later than any start: kube-scheduler uses the current time instead.
const notStarted = math.MaxInt64

// tied returns the nodes that are equal by all criteria of pickOneNodeForPreemption, which chooses
// among them by the order of a map. That function is not exported and does not report a tie, so the
// criteria are repeated here; preempt checks kube-scheduler's choice against them.
func tied(candidates []preemption.Candidate) []string {
	best := [5]int64{}
	var names []string
	for _, candidate := range candidates {
		damage := damageOf(candidate.Victims())
		switch comparison := slices.Compare(damage[:], best[:]); {
		case names == nil || comparison < 0:
			best, names = damage, []string{candidate.Name()}
		case comparison == 0:
			names = append(names, candidate.Name())
		}
	}
	slices.Sort(names)
	return names
}

// damageOf returns the criteria in their order; for each criterion, less is better.
func damageOf(victims *extenderv1.Victims) [5]int64 {
	highest := corev1helpers.PodPriority(victims.Pods[0])
	sum, earliest := int64(0), int64(notStarted)
	for _, pod := range victims.Pods {
		priority := corev1helpers.PodPriority(pod)
		sum += int64(priority) + math.MaxInt32 + 1
		if priority == highest {
			earliest = min(earliest, startOf(pod))
		}
	}
	return [5]int64{victims.NumPDBViolations, int64(highest), sum, int64(len(victims.Pods)), -earliest}
}

func startOf(pod *v1.Pod) int64 {
	if pod.Status.StartTime == nil {
		return notStarted
	}
	return pod.Status.StartTime.UnixNano()
}
