// Command extender serves what the benchmark compares Berth with.
//
//	extender full ADDRESS LABEL
//	extender delay ADDRESS URL DURATION
//
// full: an extender as most are written. It gets whole nodes (nodeCacheCapable: false), passes those that have the
// label with an integer, and scores them by it. It keeps no state, and uses the upstream types.
// delay: a proxy that holds each call back for the duration. It stands for the network before a deployed stack.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const reason = "node(s) didn't have the priority label"

func main() {
	var handler http.Handler
	switch {
	case len(os.Args) == 4 && os.Args[1] == "full":
		handler = full(os.Args[3])
	case len(os.Args) == 5 && os.Args[1] == "delay":
		handler = delay(must(url.Parse(os.Args[3])), must(time.ParseDuration(os.Args[4])))
	default:
		fmt.Fprintln(os.Stderr, "usage: extender full ADDRESS LABEL | delay ADDRESS URL DURATION")
		os.Exit(2)
	}
	log.Fatal(http.ListenAndServe(os.Args[2], handler))
}

func full(label string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) {
		args, ok := decode(w, r)
		if !ok {
			return
		}
		result := extenderv1.ExtenderFilterResult{
			Nodes:                      &corev1.NodeList{},
			FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
		}
		for _, node := range args.Nodes.Items {
			if _, ok := priority(&node, label); ok {
				result.Nodes.Items = append(result.Nodes.Items, node)
			} else {
				result.FailedAndUnresolvableNodes[node.Name] = reason
			}
		}
		encode(w, result)
	})
	mux.HandleFunc("POST /prioritize", func(w http.ResponseWriter, r *http.Request) {
		args, ok := decode(w, r)
		if !ok {
			return
		}
		scores := make(extenderv1.HostPriorityList, 0, len(args.Nodes.Items))
		for _, node := range args.Nodes.Items {
			score, _ := priority(&node, label)
			scores = append(scores, extenderv1.HostPriority{Host: node.Name, Score: score})
		}
		encode(w, scores)
	})
	return mux
}

func priority(node *corev1.Node, label string) (int64, bool) {
	value, err := strconv.ParseInt(node.Labels[label], 10, 64)
	return value, err == nil
}

func decode(w http.ResponseWriter, r *http.Request) (extenderv1.ExtenderArgs, bool) {
	var args extenderv1.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.Nodes == nil {
		http.Error(w, "the request has no nodes", http.StatusBadRequest)
		return args, false
	}
	return args, true
}

func encode(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		log.Print(err)
	}
}

func delay(target *url.URL, duration time.Duration) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(target)
	// Upstream keeps two idle connections for each host: more calls at once would connect anew each time.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	proxy.Transport = transport
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(duration)
		proxy.ServeHTTP(w, r)
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
