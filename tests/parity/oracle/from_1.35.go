//go:build !kubernetes1.34

package main

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Types that 1.35 moved out of the scheduler's own framework.
type (
	handle       = fwk.Handle
	plugin       = fwk.Plugin
	podNominator = fwk.PodNominator
)

// noDeviceClasses is a cluster in which no extended resource is backed by dynamic resource allocation.
type noDeviceClasses struct {
	fwk.SharedDRAManager // never called: only a device class leads to its other methods
}

func (m noDeviceClasses) DeviceClassResolver() fwk.DeviceClassResolver { return m }

// GetDeviceClass implements fwk.DeviceClassResolver.
func (noDeviceClasses) GetDeviceClass(v1.ResourceName) *resourcev1.DeviceClass { return nil }
