// Package scheduler contains this file beside upstream's, because options are closures over an unexported struct.
package scheduler

import (
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// WithBerth puts the extender that start returns before all others, and replaces the profiles. It must be the last
// option, because start gets the profiles and extenders of the earlier options.
func WithBerth(start func([]schedulerapi.KubeSchedulerProfile, []schedulerapi.Extender) (
	[]schedulerapi.KubeSchedulerProfile, schedulerapi.Extender)) Option {
	return func(o *schedulerOptions) {
		if o.applyDefaultProfile {
			var versioned configv1.KubeSchedulerConfiguration
			scheme.Scheme.Default(&versioned)
			var defaults schedulerapi.KubeSchedulerConfiguration
			if err := scheme.Scheme.Convert(&versioned, &defaults, nil); err != nil {
				panic(err)
			}
			o.profiles, o.applyDefaultProfile = defaults.Profiles, false
		}
		profiles, berth := start(o.profiles, o.extenders)
		o.profiles, o.extenders = profiles, append([]schedulerapi.Extender{berth}, o.extenders...)
	}
}
