//go:build kubernetes1.34

package main

import "k8s.io/kubernetes/pkg/scheduler/framework"

type (
	handle       = framework.Handle
	plugin       = framework.Plugin
	podNominator = framework.PodNominator
)

// noDeviceClasses is a cluster in which no extended resource is backed by dynamic resource allocation.
type noDeviceClasses struct {
	framework.SharedDRAManager // never called: extended resources of device classes are behind a gate that is off
}
