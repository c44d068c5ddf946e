package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

var restricted = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

var evaluator = func() policy.Evaluator {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		panic(err)
	}
	return evaluator
}()

// podSecurityFaults returns why Pod Security would refuse the object's pods at the level "restricted", or why it would
// refuse the labels of a namespace.
func podSecurityFaults(object runtime.Object) []string {
	if namespace, ok := object.(*core.Namespace); ok {
		_, errs := api.PolicyToEvaluate(namespace.Labels, api.Policy{})
		return messages(errs)
	}
	template, _ := podTemplateOf(object)
	if template == nil {
		return nil
	}
	var pod corev1.PodTemplateSpec
	if err := scheme.Convert(template, &pod, nil); err != nil {
		return []string{field.InternalError(nil, err).Error()}
	}
	var faults []string
	for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			faults = append(faults, fmt.Sprintf("violates PodSecurity %q: %s: %s", restricted, result.ForbiddenReason,
				result.ForbiddenDetail))
		}
	}
	return faults
}
