// Command peer is a scheduler extender in Go, with which the benchmark compares Berth: in node-cache mode, with the
// priorities of the profile label-priority in memory. As real extenders do, it follows nodes and pods with client-go's
// informers.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"math/rand/v2"
	"net/http"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	extender "k8s.io/kube-scheduler/extender/v1"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the watches and of bind")
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	label := flag.String("label", "", "of the nodes' priorities")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *listen, *label); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig, listen, label string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// With the defaults, the benchmark would measure the client's own limit.
	config.QPS, config.Burst = 5000, 10000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	peer := &peer{label: label, client: client, priorities: map[string]int64{}, pods: map[types.UID]string{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := peer.follow(factory); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	server := &http.Server{Addr: listen, Handler: peer.routes()}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// peer has the priorities of the nodes with a label, and the nodes of the pods.
type peer struct {
	label  string
	client kubernetes.Interface

	lock       sync.RWMutex
	priorities map[string]int64
	pods       map[types.UID]string
}

func (p *peer) follow(factory informers.SharedInformerFactory) error {
	if _, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.setNode(object.(*corev1.Node)) },
		UpdateFunc: func(_, object any) { p.setNode(object.(*corev1.Node)) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				p.lock.Lock()
				defer p.lock.Unlock()
				delete(p.priorities, key)
			}
		},
	}); err != nil {
		return err
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.setPod(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { p.setPod(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				p.lock.Lock()
				defer p.lock.Unlock()
				delete(p.pods, pod.UID)
			}
		},
	})
	return err
}

func (p *peer) setNode(node *corev1.Node) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if priority, err := strconv.ParseInt(node.Labels[p.label], 10, 64); err == nil {
		p.priorities[node.Name] = priority
	} else {
		delete(p.priorities, node.Name)
	}
}

func (p *peer) setPod(pod *corev1.Pod) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.pods[pod.UID] = pod.Spec.NodeName
}

func (p *peer) routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /filter", answer(func(_ context.Context, args *extender.ExtenderArgs) any {
		return p.filter(args)
	}))
	routes.HandleFunc("POST /filter_onlyone", answer(func(_ context.Context, args *extender.ExtenderArgs) any {
		return p.filterOnlyOne(args)
	}))
	routes.HandleFunc("POST /prioritize", answer(func(_ context.Context, args *extender.ExtenderArgs) any {
		return p.prioritize(args)
	}))
	routes.HandleFunc("POST /bind", answer(p.bind))
	return routes
}

func answer[Arguments any](verb func(context.Context, *Arguments) any) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var arguments Arguments
		if err := json.NewDecoder(request.Body).Decode(&arguments); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		content, err := json.Marshal(verb(request.Context(), &arguments))
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		_, _ = writer.Write(content)
	}
}

func (p *peer) filter(args *extender.ExtenderArgs) *extender.ExtenderFilterResult {
	passed := make([]string, 0, len(*args.NodeNames))
	rejected := extender.FailedNodesMap{}
	reason := "node(s) didn't have the priority label " + p.label
	p.lock.RLock()
	defer p.lock.RUnlock()
	for _, name := range *args.NodeNames {
		if _, ok := p.priorities[name]; ok {
			passed = append(passed, name)
		} else {
			rejected[name] = reason
		}
	}
	return &extender.ExtenderFilterResult{NodeNames: &passed, FailedAndUnresolvableNodes: rejected}
}

func (p *peer) filterOnlyOne(args *extender.ExtenderArgs) *extender.ExtenderFilterResult {
	result := p.filter(args)
	var best []string
	highest := int64(0)
	p.lock.RLock()
	defer p.lock.RUnlock()
	for _, name := range *result.NodeNames {
		switch priority := p.priorities[name]; {
		case best == nil || priority > highest:
			best, highest = append(best[:0], name), priority
		case priority == highest:
			best = append(best, name)
		}
	}
	if best != nil {
		*result.NodeNames = []string{best[rand.IntN(len(best))]}
	}
	return result
}

func (p *peer) prioritize(args *extender.ExtenderArgs) extender.HostPriorityList {
	scores := make(extender.HostPriorityList, 0, len(*args.NodeNames))
	p.lock.RLock()
	defer p.lock.RUnlock()
	for _, name := range *args.NodeNames {
		scores = append(scores, extender.HostPriority{Host: name, Score: p.priorities[name]})
	}
	return scores
}

func (p *peer) bind(ctx context.Context, args *extender.ExtenderBindingArgs) any {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
	}
	if err := p.client.CoreV1().Pods(args.PodNamespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return &extender.ExtenderBindingResult{Error: err.Error()}
	}
	return &extender.ExtenderBindingResult{}
}
