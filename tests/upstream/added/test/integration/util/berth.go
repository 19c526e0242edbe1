// Package util has these files beside upstream's: every scheduler that a test starts gets Berth as its extender.
package util

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
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
)

const (
	startSeconds = 60
	// As kube-scheduler's default; `berth serve` has it too.
	httpTimeout = 5 * time.Second
)

var berthsStarted int

// withBerth starts `berth serve` for a scheduler, and ends it with the test or with the scheduler's context. Without
// BERTH in the environment, the command to run, the scheduler has no such extender.
func withBerth(t *testing.T, ctx context.Context, config *rest.Config, options []scheduler.Option) []scheduler.Option {
	command := os.Getenv("BERTH")
	if command == "" {
		return options
	}
	start := func(profiles []schedulerapi.KubeSchedulerProfile, others []schedulerapi.Extender) (
		[]schedulerapi.KubeSchedulerProfile, schedulerapi.Extender) {
		document, judged := berthConfiguration(t, profiles, others)
		port := startBerth(t, ctx, command, config, document)
		if alone() {
			profiles = withoutPlugins(profiles, judged)
		}
		return profiles, schedulerapi.Extender{
			URLPrefix:        fmt.Sprintf("http://127.0.0.1:%d/scheduler", port),
			FilterVerb:       "filter",
			PrioritizeVerb:   "prioritize",
			BindVerb:         "bind",
			PreemptVerb:      "preempt",
			Weight:           1,
			NodeCacheCapable: true,
			HTTPTimeout:      metav1.Duration{Duration: httpTimeout},
		}
	}
	return append(options, scheduler.WithBerth(start))
}

// startBerth returns the port when the process is healthy.
func startBerth(t *testing.T, ctx context.Context, command string, config *rest.Config, document []byte) int {
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
	log, err := os.Create(path + ".log")
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(command, "serve", "--kubeconfig", path+".kubeconfig", "--config", path+".yaml",
		"--port", fmt.Sprint(port), "--verbose")
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = process.Wait()
		_ = log.Close()
		close(ended)
	}()
	end := sync.OnceFunc(func() {
		_ = process.Process.Kill() // its store is in memory
		<-ended
	})
	context.AfterFunc(ctx, end)
	t.Cleanup(end)

	deadline := time.Now().Add(startSeconds * time.Second)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", port)); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return port
			}
		}
		select {
		case <-ended:
			t.Fatalf("berth serve ended, see %s.log", path)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("berth serve is not healthy after %d s, see %s.log", startSeconds, path)
		}
	}
}

// alone says whether Berth judges without the scheduler's own plugins.
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
