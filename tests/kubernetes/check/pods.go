package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

// podTemplateOf returns the template of the object's pods and its place, or nil if the object creates none.
func podTemplateOf(object runtime.Object) (*core.PodTemplateSpec, *field.Path) {
	switch object := object.(type) {
	case *apps.Deployment:
		return &object.Spec.Template, field.NewPath("spec", "template")
	case *apps.StatefulSet:
		return &object.Spec.Template, field.NewPath("spec", "template")
	case *batch.CronJob:
		return &object.Spec.JobTemplate.Spec.Template, field.NewPath("spec", "jobTemplate", "spec", "template")
	case *batch.Job:
		return &object.Spec.Template, field.NewPath("spec", "template")
	case *core.Pod:
		metadata := metav1.ObjectMeta{Annotations: object.Annotations}
		return &core.PodTemplateSpec{ObjectMeta: metadata, Spec: object.Spec}, nil
	default:
		return nil, nil
	}
}

// warnings returns what the API server accepts but warns about.
func warnings(object runtime.Object) []string {
	template, place := podTemplateOf(object)
	if template == nil {
		return nil
	}
	var faults []string
	for _, warning := range podutil.GetWarningsForPodTemplate(context.Background(), place, template, nil) {
		faults = append(faults, fmt.Sprintf("warning: %s", warning))
	}
	return faults
}
