//go:build kubernetes1.37

package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

func validateStatefulSet(object *apps.StatefulSet) field.ErrorList {
	options := appsvalidation.StatefulSetValidationOptions{}
	return appsvalidation.ValidateStatefulSet(object, options, podOptions(&object.Spec.Template.Spec))
}

// snapshotOptions passes the snapshot twice: preemption takes its victims from the second.
func snapshotOptions(seen *cluster) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSnapshotSharedLister(seen), frameworkruntime.WithMutableSnapshotLister(seen),
	}
}
