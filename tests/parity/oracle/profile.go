package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// filterPlugins are compared; plugins for volumes and dynamic resources are not.
var filterPlugins = []string{
	names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts,
	names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity,
}

// scorePlugins are compared.
var scorePlugins = []string{
	names.TaintToleration, names.NodeAffinity, names.NodeResourcesFit, names.PodTopologySpread,
	names.InterPodAffinity, names.NodeResourcesBalancedAllocation, names.ImageLocality,
}

// scaffolding lists the plugins without which a framework cannot be built.
var scaffolding = []string{names.PrioritySort, names.DefaultBinder}

// profile is one configuration of kube-scheduler, ready to schedule in a cluster.
type profile struct {
	// whole has all plugins in kube-scheduler's order.
	whole framework.Framework
	// single has a framework of its own for each filter plugin, so that its verdict does not depend
	// on the others.
	single     map[string]framework.Framework
	preemption *defaultpreemption.DefaultPreemption
	weights    map[string]int64
}

// newProfile builds kube-scheduler's default profile with these arguments. Without arguments,
// PodTopologySpread does not use default constraints: they would make verdicts depend on services.
func newProfile(seen *cluster, args map[string]json.RawMessage) (*profile, error) {
	configuration, err := latest.Default()
	if err != nil {
		return nil, err
	}
	defaults := configuration.Profiles[0]
	if defaults.PluginConfig, err = withArgs(defaults.PluginConfig, args); err != nil {
		return nil, err
	}

	built := &profile{single: map[string]framework.Framework{}, weights: map[string]int64{}}
	for _, plugin := range defaults.Plugins.MultiPoint.Enabled {
		built.weights[plugin.Name] = int64(plugin.Weight)
	}
	all := append(append([]string{names.DefaultPreemption}, filterPlugins...), scorePlugins...)
	if built.whole, err = newFramework(seen, defaults, all, &built.preemption); err != nil {
		return nil, err
	}
	for _, name := range filterPlugins {
		if built.single[name], err = newFramework(seen, defaults, []string{name}, nil); err != nil {
			return nil, err
		}
	}
	return built, nil
}

// newFramework keeps only the named plugins of a profile, in their order. The preemption plugin, if
// named, is also stored in preemption: its evaluator cannot be reached through the framework.
func newFramework(
	seen *cluster, defaults config.KubeSchedulerProfile, named []string, preemption **defaultpreemption.DefaultPreemption,
) (framework.Framework, error) {
	wanted := map[string]bool{}
	for _, name := range append(scaffolding, named...) {
		wanted[name] = true
	}
	var enabled []config.Plugin
	for _, plugin := range defaults.Plugins.MultiPoint.Enabled {
		if wanted[plugin.Name] {
			enabled = append(enabled, plugin)
		}
	}
	kept := defaults
	kept.Plugins = &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabled}}

	registry := plugins.NewInTreeRegistry()
	registry[names.DefaultPreemption] = func(ctx context.Context, args runtime.Object, handle handle) (plugin, error) {
		features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
		plugin, err := defaultpreemption.New(ctx, args, handle, features)
		*preemption = plugin
		return plugin, err
	}
	// Stop the framework's metrics recorder, which is not used and would outlive the framework.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	options := append(snapshotOptions(seen),
		frameworkruntime.WithInformerFactory(seen.informers),
		frameworkruntime.WithPodNominator(&seen.nominations),
		frameworkruntime.WithSharedDRAManager(noDeviceClasses{}),
		frameworkruntime.WithParallelism(1), // cases are answered in parallel
	)
	return frameworkruntime.NewFramework(ctx, registry, &kept, options...)
}

// withArgs replaces the arguments of the plugins named, decoded and defaulted as kube-scheduler does.
func withArgs(defaults []config.PluginConfig, args map[string]json.RawMessage) ([]config.PluginConfig, error) {
	replacements := map[string]json.RawMessage{names.PodTopologySpread: []byte(`{"defaultingType":"List"}`)}
	for name, raw := range args {
		replacements[name] = raw
	}

	var configured []config.PluginConfig
	for _, plugin := range defaults {
		raw, replaced := replacements[plugin.Name]
		if replaced {
			kind := configv1.SchemeGroupVersion.WithKind(plugin.Name + "Args")
			decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(raw, &kind, nil)
			if err != nil {
				return nil, fmt.Errorf("decoding the arguments of %s: %w", plugin.Name, err)
			}
			plugin.Args = decoded
			delete(replacements, plugin.Name)
		}
		configured = append(configured, plugin)
	}
	for name := range replacements {
		return nil, fmt.Errorf("plugin %s has no arguments", name)
	}
	return configured, nil
}
