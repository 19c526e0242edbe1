// Package util contains these files beside upstream's, so that every scheduler of a test gets Berth as its extender.
package util

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const (
	startSeconds = 60
	// The default of kube-scheduler and of `berth serve`.
	httpTimeout = 5 * time.Second
)

var berthsStarted int

// withBerth starts `berth serve` for a scheduler, and ends it with the test or with the scheduler's context. If
// BERTH_LAUNCHER, the Unix socket of tests/upstream/launcher.py, is not set, the options stay unchanged.
func withBerth(t *testing.T, ctx context.Context, config *rest.Config, options []scheduler.Option) []scheduler.Option {
	launcher := os.Getenv("BERTH_LAUNCHER")
	if launcher == "" {
		return options
	}
	start := func(profiles []schedulerapi.KubeSchedulerProfile, others []schedulerapi.Extender) (
		[]schedulerapi.KubeSchedulerProfile, schedulerapi.Extender) {
		document, judged := berthConfiguration(t, profiles, others)
		port := startBerth(t, ctx, launcher, config, document, profiles)
		if alone() {
			profiles = withoutPlugins(profiles, judged)
		}
		return profiles, schedulerapi.Extender{
			URLPrefix:        fmt.Sprintf("http://127.0.0.1:%d/scheduler", port),
			FilterVerb:       "filter",
			PrioritizeVerb:   "prioritize",
			BindVerb:         bindVerb(profiles),
			PreemptVerb:      "preempt",
			Weight:           1,
			NodeCacheCapable: true,
			HTTPTimeout:      metav1.Duration{Duration: httpTimeout},
		}
	}
	return append(options, scheduler.WithBerth(start))
}

// bindVerb returns "" if a test replaces the default binder: the scheduler does not call bind plugins if an extender
// binds, and the test may wait forever for the call of its own plugin.
func bindVerb(profiles []schedulerapi.KubeSchedulerProfile) string {
	for _, profile := range profiles {
		if _, found := enabled(profile.Plugins.MultiPoint, profile.Plugins.Bind)[names.DefaultBinder]; !found {
			return ""
		}
	}
	return "bind"
}

// startBerth returns the port when the process is healthy.
func startBerth(t *testing.T, ctx context.Context, launcher string, config *rest.Config, document []byte,
	profiles []schedulerapi.KubeSchedulerProfile) int {
	t.Helper()
	berthsStarted++
	name := fmt.Sprintf("%s-%d", strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()), berthsStarted)
	if len(name) > 120 {
		name = name[:100] + name[len(name)-20:]
	}
	path := filepath.Join(os.Getenv("BERTH_LOGS"), name)
	if err := os.WriteFile(path+".yaml", document, 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := clientcmdapi.NewConfig()
	authority, err := os.ReadFile(config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: authority}
	kubeconfig.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	kubeconfig.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*kubeconfig, path+".kubeconfig"); err != nil {
		t.Fatal(err)
	}

	port := freePort(t)
	arguments := []string{"--kubeconfig", path + ".kubeconfig", "--config", path + ".yaml", "--port", fmt.Sprint(port), "--verbose"}
	for _, profile := range profiles {
		arguments = append(arguments, "--scheduler-name", profile.SchedulerName)
	}
	request, err := json.Marshal(map[string]any{"arguments": arguments, "log": path + ".log"})
	if err != nil {
		t.Fatal(err)
	}
	// The server runs as long as the connection is open.
	connection, err := net.Dial("unix", launcher)
	if err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _ = connection.Close() })
	context.AfterFunc(ctx, end)
	t.Cleanup(end)
	if _, err := connection.Write(append(request, '\n')); err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(startSeconds * time.Second)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", port)); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return port
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("berth serve is not healthy after %d s, see %s.log", startSeconds, path)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// alone returns whether Berth evaluates its plugins' rules without the scheduler's own plugins.
func alone() bool {
	return os.Getenv("BERTH_ALONE") != ""
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
