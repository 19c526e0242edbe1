package util

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// The plugins of Berth's profile `full`, in its order. Plugins that only filter do not have a weight.
var full = []struct {
	name            string
	filters, scores bool
}{
	{names.NodeUnschedulable, true, false},
	{names.NodeName, true, false},
	{names.TaintToleration, true, true},
	{names.NodeAffinity, true, true},
	{names.NodePorts, true, false},
	{names.NodeResourcesFit, true, true},
	{names.PodTopologySpread, true, true},
	{names.InterPodAffinity, true, true},
	{names.NodeResourcesBalancedAllocation, false, true},
	{names.ImageLocality, false, true},
}

type object = map[string]any

// berthConfiguration returns a document with the plugins of `full` that the scheduler's profiles have: Berth takes a
// plugin as a whole, so a plugin that a profile has at only one of two extension points stays with the scheduler. Also
// returns the plugins that Berth evaluates, by the profile's name.
func berthConfiguration(t *testing.T, profiles []schedulerapi.KubeSchedulerProfile, others []schedulerapi.Extender) (
	[]byte, map[string]sets.Set[string]) {
	t.Helper()
	judged := map[string]sets.Set[string]{}
	definitions, profileNames := object{}, object{}
	for _, profile := range profiles {
		plugins := profile.Plugins
		filters := enabled(plugins.MultiPoint, plugins.Filter)
		scores := enabled(plugins.MultiPoint, plugins.Score)
		judged[profile.SchedulerName] = sets.New[string]()
		taken, left := []object{}, []object{}
		for _, plugin := range full {
			_, isFilter := filters[plugin.name]
			weight, isScore := scores[plugin.name]
			if plugin.filters && !isFilter || plugin.scores && !isScore {
				left = append(left, object{"name": plugin.name})
				continue
			}
			judged[profile.SchedulerName].Insert(plugin.name)
			enabled := object{"name": plugin.name}
			if plugin.scores {
				enabled["weight"] = max(weight, 1)
			}
			taken = append(taken, enabled)
		}
		name := "upstream-" + profile.SchedulerName
		definition := object{
			"extends": "full",
			"plugins": object{"enabled": taken, "disabled": left}, "pluginConfig": arguments(t, profile.PluginConfig, others),
		}
		if alone() {
			definition["scores"] = "totals" // Berth's scores need not outweigh the scheduler's
		}
		definitions[name], profileNames[profile.SchedulerName] = definition, name
	}
	document, err := json.Marshal(object{
		"apiVersion": "berth.dev/v1alpha1", "kind": "BerthConfiguration",
		"definitions": definitions, "profiles": profileNames, "profile": "full",
	})
	if err != nil {
		t.Fatal(err)
	}
	return document, judged
}

// enabled returns the weights of an extension point's plugins by name.
func enabled(multiPoint, point schedulerapi.PluginSet) map[string]int32 {
	disabled := sets.New[string]()
	for _, each := range point.Disabled {
		disabled.Insert(each.Name)
	}
	weights := map[string]int32{}
	if !disabled.Has("*") {
		for _, each := range multiPoint.Enabled {
			if !disabled.Has(each.Name) {
				weights[each.Name] = each.Weight
			}
		}
	}
	for _, each := range point.Enabled {
		weights[each.Name] = each.Weight
	}
	return weights
}

// arguments returns the arguments of the plugins that Berth has, too. As in the scheduler, NodeResourcesFit ignores the
// resources that an extender manages with IgnoredByScheduler.
func arguments(t *testing.T, configs []schedulerapi.PluginConfig, others []schedulerapi.Extender) []object {
	t.Helper()
	ignored := []string{}
	for _, extender := range others {
		for _, resource := range extender.ManagedResources {
			if resource.IgnoredByScheduler {
				ignored = append(ignored, string(resource.Name))
			}
		}
	}
	found := []object{}
	for _, config := range configs {
		if !slices.Contains([]string{names.NodeAffinity, names.NodeResourcesFit, names.PodTopologySpread,
			names.InterPodAffinity, names.NodeResourcesBalancedAllocation}, config.Name) {
			continue
		}
		args := encoded(t, config.Args)
		if config.Name == names.NodeResourcesFit && len(ignored) > 0 {
			args["ignoredResources"] = ignored
		}
		found = append(found, object{"name": config.Name, "args": args})
	}
	return found
}

func encoded(t *testing.T, args runtime.Object) object {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	var text bytes.Buffer
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	if err := encoder.Encode(args, &text); err != nil {
		t.Fatal(err)
	}
	var fields object
	if err := json.Unmarshal(text.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	return fields
}

// withoutPlugins removes the plugins that Berth evaluates from the scheduler's profiles.
func withoutPlugins(profiles []schedulerapi.KubeSchedulerProfile, judged map[string]sets.Set[string]) []schedulerapi.KubeSchedulerProfile {
	rest := []schedulerapi.KubeSchedulerProfile{}
	for _, profile := range profiles {
		profile := *profile.DeepCopy()
		plugins := profile.Plugins
		for _, point := range []*schedulerapi.PluginSet{
			&plugins.MultiPoint, &plugins.PreFilter, &plugins.Filter, &plugins.PreScore, &plugins.Score,
		} {
			point.Enabled = slices.DeleteFunc(point.Enabled, func(plugin schedulerapi.Plugin) bool {
				return judged[profile.SchedulerName].Has(plugin.Name)
			})
		}
		rest = append(rest, profile)
	}
	return rest
}
