//go:build !kubernetes1.37

package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

func validateStatefulSet(object *apps.StatefulSet) field.ErrorList {
	return appsvalidation.ValidateStatefulSet(object, podOptions(&object.Spec.Template.Spec))
}

func snapshotOptions(seen *cluster) []frameworkruntime.Option {
	return []frameworkruntime.Option{frameworkruntime.WithSnapshotSharedLister(seen)}
}
