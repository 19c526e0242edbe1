//go:build ignore

package resource

import v1 "k8s.io/api/core/v1"

// requestsOf are the requests as the scheduler asks for them: of the pod that is to be placed, and of one on a node.
func requestsOf(pod *v1.Pod) map[string]v1.ResourceList {
	placed := PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	return map[string]v1.ResourceList{"asked": PodRequests(pod, PodResourcesOptions{}), "placed": PodRequests(pod, placed)}
}
