// Command controlplane is a Kubernetes control plane for tests: etcd, kube-apiserver and
// kube-scheduler in one binary. The first argument names the component, the rest are its flags.
//
// The Kubernetes components are upstream's own commands. etcd is reduced to what a control plane
// on loopback needs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info on /metrics
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Constructors and not commands: upstream's constructors claim the process's signals, which only
// one can have.
var components = map[string]func() *cobra.Command{
	"etcd":           newEtcdCommand,
	"kube-apiserver": apiserver.NewAPIServerCommand,
	"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() }, // no plugins of our own
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-scheduler [flags]")
		os.Exit(2)
	}
	command := components[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
