package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
)

// Each case does what the API server's strategy of the kind does. (The strategies themselves need the code of the whole
// server, which takes many minutes to build.) Options that depend on the old object only allow an old fault to remain.

// validate returns why the API server would refuse to create the object.
func validate(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(object, podOptions(&object.Spec.Template))
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(object, podOptions(&object.Spec.Template))
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(object, autoscalerOptions(object))
	case *batch.CronJob:
		return batchvalidation.ValidateCronJobCreate(object, podOptions(&object.Spec.JobTemplate.Spec.Template))
	case *batch.Job:
		return batchvalidation.ValidateJob(object, jobOptions(object))
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(object)
	case *core.Namespace:
		return corevalidation.ValidateNamespace(object)
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(object, claimOptions(object))
	case *core.Pod:
		return corevalidation.ValidatePodCreate(object, lonePodOptions(object))
	case *core.Secret:
		return corevalidation.ValidateSecret(object)
	case *core.Service:
		return corevalidation.ValidateServiceCreate(object)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(object)
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(object)
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(object, networkOptions)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(object, budgetOptions)
	case *rbac.ClusterRole:
		return rbacvalidation.ValidateClusterRole(object, clusterRoleOptions)
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBinding(object)
	case *rbac.Role:
		return rbacvalidation.ValidateRole(object)
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBinding(object)
	default:
		return notKnown(object)
	}
}

// validateUpdate returns why the API server would refuse to change the object `before` into `after`.
func validateUpdate(after, before runtime.Object) field.ErrorList {
	errs := validate(after)
	switch after := after.(type) {
	case *apps.Deployment:
		return append(errs, appsvalidation.ValidateDeploymentUpdate(
			after, before.(*apps.Deployment), podOptions(&after.Spec.Template))...)
	case *apps.StatefulSet:
		return append(errs, appsvalidation.ValidateStatefulSetUpdate(
			after, before.(*apps.StatefulSet), podOptions(&after.Spec.Template))...)
	case *autoscaling.HorizontalPodAutoscaler:
		return append(errs, autoscalingvalidation.ValidateHorizontalPodAutoscalerUpdate(
			after, before.(*autoscaling.HorizontalPodAutoscaler), autoscalerOptions(after))...)
	case *batch.CronJob:
		return append(errs, batchvalidation.ValidateCronJobUpdate(
			after, before.(*batch.CronJob), podOptions(&after.Spec.JobTemplate.Spec.Template))...)
	case *batch.Job:
		return append(errs, batchvalidation.ValidateJobUpdate(after, before.(*batch.Job), jobOptions(after))...)
	case *core.ConfigMap:
		return append(errs, corevalidation.ValidateConfigMapUpdate(after, before.(*core.ConfigMap))...)
	case *core.Namespace:
		return append(errs, corevalidation.ValidateNamespaceUpdate(after, before.(*core.Namespace))...)
	case *core.PersistentVolumeClaim:
		return append(errs, corevalidation.ValidatePersistentVolumeClaimUpdate(
			after, before.(*core.PersistentVolumeClaim), claimOptions(after))...)
	case *core.Pod:
		return append(errs, corevalidation.ValidatePodUpdate(after, before.(*core.Pod), lonePodOptions(after))...)
	case *core.Secret:
		return append(errs, corevalidation.ValidateSecretUpdate(after, before.(*core.Secret))...)
	case *core.Service:
		return append(errs, corevalidation.ValidateServiceUpdate(after, before.(*core.Service))...)
	case *core.ServiceAccount:
		return append(errs, corevalidation.ValidateServiceAccountUpdate(after, before.(*core.ServiceAccount))...)
	case *networking.Ingress:
		return append(errs, networkingvalidation.ValidateIngressUpdate(after, before.(*networking.Ingress))...)
	case *networking.NetworkPolicy:
		return append(errs, networkingvalidation.ValidateNetworkPolicyUpdate(
			after, before.(*networking.NetworkPolicy), networkOptions)...)
	case *policy.PodDisruptionBudget:
		return errs
	case *rbac.ClusterRole:
		return append(errs, rbacvalidation.ValidateClusterRoleUpdate(
			after, before.(*rbac.ClusterRole), clusterRoleOptions)...)
	case *rbac.ClusterRoleBinding:
		return append(errs, rbacvalidation.ValidateClusterRoleBindingUpdate(
			after, before.(*rbac.ClusterRoleBinding))...)
	case *rbac.Role:
		return append(errs, rbacvalidation.ValidateRoleUpdate(after, before.(*rbac.Role))...)
	case *rbac.RoleBinding:
		return append(errs, rbacvalidation.ValidateRoleBindingUpdate(after, before.(*rbac.RoleBinding))...)
	default:
		return notKnown(after)
	}
}

func notKnown(object runtime.Object) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("validation.go has no case for %T", object))}
}

var (
	networkOptions     = networkingvalidation.NetworkPolicyValidationOptions{}
	budgetOptions      = policyvalidation.PodDisruptionBudgetValidationOptions{}
	clusterRoleOptions = rbacvalidation.ClusterRoleValidationOptions{}
)

func podOptions(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
	return podutil.GetValidationOptionsFromPodTemplate(template, nil)
}

func lonePodOptions(pod *core.Pod) corevalidation.PodValidationOptions {
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	options.ResourceIsPod = true
	return options
}

func jobOptions(job *batch.Job) batchvalidation.JobValidationOptions {
	return batchvalidation.JobValidationOptions{
		PodValidationOptions: podOptions(&job.Spec.Template), RequirePrefixedLabels: true,
	}
}

func claimOptions(claim *core.PersistentVolumeClaim) corevalidation.PersistentVolumeClaimSpecValidationOptions {
	return corevalidation.ValidationOptionsForPersistentVolumeClaim(claim, nil)
}

func autoscalerOptions(
	autoscaler *autoscaling.HorizontalPodAutoscaler,
) autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions {
	options := autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1}
	options.ScaleTargetRefValidationOptions.AllowEmptyAPIGroup =
		autoscaler.Spec.ScaleTargetRef.Kind == "ReplicationController"
	options.ObjectMetricsValidationOptions.AllowEmptyAPIGroup = true
	return options
}
