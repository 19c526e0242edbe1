package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // conversion and defaults
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // conversion and defaults
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install" // conversion and defaults
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install" // conversion and defaults
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
)

// checker reports the objects of a case that an API server of this version would not store unchanged.
type checker struct{}

// Findings lists the problems of a case's objects; it is empty if they are valid.
type Findings struct {
	Findings []string `json:"findings"`
}

func (checker) respond(line []byte) any {
	found := Findings{Findings: []string{}}
	decoded, err := decodeCase(line, decodeStrictly)
	if err != nil {
		return Findings{Findings: []string{err.Error()}}
	}
	for index, object := range append(decoded.objects, decoded.pod) {
		for _, finding := range check(object) {
			found.Findings = append(found.Findings, fmt.Sprintf("object %d: %s", index, finding))
		}
	}
	return found
}

func check(object runtime.Object) []string {
	defaulted := object.DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)

	var findings []string
	if pod, isPod := defaulted.(*v1.Pod); isPod {
		stored := object.(*v1.Pod).DeepCopy()
		forgetIrrelevant(pod)
		forgetIrrelevant(stored)
		if !apiequality.Semantic.DeepEqual(stored, pod) {
			findings = append(findings, "defaults are missing: "+diff.Diff(stored, pod))
		}
	}
	internal, err := toInternal(object)
	if err != nil {
		return append(findings, err.Error())
	}
	for _, invalid := range validate(internal) {
		findings = append(findings, invalid.Error())
	}
	return findings
}

// forgetIrrelevant removes the defaults that no scheduler reads, so that cases may omit them.
func forgetIrrelevant(pod *v1.Pod) {
	spec := &pod.Spec
	spec.DNSPolicy, spec.RestartPolicy, spec.SecurityContext = "", "", nil
	spec.EnableServiceLinks, spec.TerminationGracePeriodSeconds = nil, nil
	for _, containers := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for index := range containers {
			container := &containers[index]
			container.ImagePullPolicy = ""
			container.TerminationMessagePath, container.TerminationMessagePolicy = "", ""
			roundUp(container.Resources.Requests)
			roundUp(container.Resources.Limits)
		}
	}
}

// roundUp rounds quantities up to a thousandth, as an API server does. Cases contain some unrounded
// quantities, but only if the result does not depend on the time of rounding.
func roundUp(resources v1.ResourceList) {
	for name, quantity := range resources {
		quantity.RoundUp(resource.Milli)
		resources[name] = quantity
	}
}

// toInternal converts to the type that validation is written for, with the defaults that it expects.
func toInternal(object runtime.Object) (runtime.Object, error) {
	defaulted := object.DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)
	return legacyscheme.Scheme.ConvertToVersion(defaulted, runtime.InternalGroupVersioner)
}

func validate(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *core.Pod:
		return corevalidation.ValidatePodCreate(object, podOptions(&object.Spec))
	case *core.Node:
		return corevalidation.ValidateNode(object)
	case *core.Namespace:
		return corevalidation.ValidateNamespace(object)
	case *core.Service:
		return corevalidation.ValidateServiceCreate(object)
	case *core.ReplicationController:
		return corevalidation.ValidateReplicationController(object, podOptions(&object.Spec.Template.Spec))
	case *apps.ReplicaSet:
		return appsvalidation.ValidateReplicaSet(object, podOptions(&object.Spec.Template.Spec))
	case *apps.StatefulSet:
		return validateStatefulSet(object)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(object, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *scheduling.PriorityClass:
		return schedulingvalidation.ValidatePriorityClass(object)
	default:
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("%T is not validated", object))}
	}
}

// podOptions returns the options of an update, which accepts pods that older API servers accepted.
func podOptions(spec *core.PodSpec) corevalidation.PodValidationOptions {
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(spec, spec, nil, nil)
	options.ResourceIsPod = true
	return options
}
