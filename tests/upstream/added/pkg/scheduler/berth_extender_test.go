package scheduler

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	tf "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

const verdictsAnnotation = "upstream.berth.dev/verdicts"

type verdict struct {
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	Score  int64  `json:"score"`
}

type verdicts struct {
	Nodes map[string]verdict `json:"nodes"`
	Fails []string           `json:"fails,omitempty"`
}

// berthExtender gets a fake extender's verdicts from Berth: the pod has them in an annotation, a plugin returns them,
// and they come back through the verbs and kube-scheduler's own client. Other methods are those of the fake extender.
type berthExtender struct {
	*tf.FakeExtender
	http fwk.Extender
}

func throughBerth(t *testing.T, fake *tf.FakeExtender) fwk.Extender {
	t.Helper()
	return &berthExtender{fake, httpBerth(t, fake.Weight)}
}

func httpBerth(t *testing.T, weight int64) fwk.Extender {
	t.Helper()
	extender, err := NewHTTPExtender(&schedulerapi.Extender{
		URLPrefix:        os.Getenv("BERTH_URL"),
		FilterVerb:       "filter",
		PrioritizeVerb:   "prioritize",
		PreemptVerb:      "preempt",
		Weight:           weight,
		NodeCacheCapable: os.Getenv("BERTH_NODE_CACHE") != "",
	})
	if err != nil {
		t.Fatal(err)
	}
	return extender
}

func (b *berthExtender) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, extenderv1.FailedNodesMap, extenderv1.FailedNodesMap, error) {
	said := verdicts{Nodes: map[string]verdict{}}
	for _, node := range nodes {
		for _, predicate := range b.Predicates {
			switch status := predicate(pod, node); status.Code() {
			case fwk.Success:
				continue
			case fwk.Unschedulable:
				said.Nodes[node.Node().Name] = verdict{"Unschedulable", fmt.Sprintf("FakeExtender: node %q failed", node.Node().Name), 0}
			case fwk.UnschedulableAndUnresolvable:
				said.Nodes[node.Node().Name] = verdict{"UnschedulableAndUnresolvable", fmt.Sprintf("FakeExtender: node %q failed and unresolvable", node.Node().Name), 0}
			default:
				said.Fails = []string{"filter"}
			}
			break
		}
	}
	return b.http.Filter(said.of(pod), nodes)
}

func (b *berthExtender) Prioritize(pod *v1.Pod, nodes []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	said := verdicts{Nodes: map[string]verdict{}}
	scores, _, err := b.FakeExtender.Prioritize(pod, nodes)
	if err != nil {
		said.Fails = []string{"score"}
	}
	for _, each := range *scores {
		said.Nodes[each.Host] = verdict{Score: each.Score}
	}
	return b.http.Prioritize(said.of(pod), nodes)
}

func (v verdicts) of(pod *v1.Pod) *v1.Pod {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	pod = pod.DeepCopy()
	if pod.Name == "" {
		pod.Name, pod.Namespace, pod.UID = "pod", "default", "uid" // as every pod of an API server has them
	}
	pod.Annotations = map[string]string{verdictsAnnotation: string(text)}
	return pod
}

// convertThroughBerth sends a table's victims to Berth, and returns kube-scheduler's conversion of the answer.
func convertThroughBerth(t *testing.T, victims map[string]*extenderv1.MetaVictims, nodes fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	t.Helper()
	found, err := (&HTTPExtender{}).convertToVictims(victims, nodes)
	if err != nil {
		return nil, err
	}
	preemptor := st.MakePod().Name("preemptor").UID("preemptor").Priority(1000).Obj()
	return httpBerth(t, 1).ProcessPreemption(preemptor, found, nodes)
}
