//go:build ignore

package resource

import v1 "k8s.io/api/core/v1"

// requestsOf returns the requests as the scheduler reads them: of a pod that is to be placed, and of a pod on a node.
func requestsOf(pod *v1.Pod) map[string]v1.ResourceList {
	placed := PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	return map[string]v1.ResourceList{"asked": PodRequests(pod, PodResourcesOptions{}), "placed": PodRequests(pod, placed)}
}
