package main

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/rbac"
)

const (
	// The same for all objects: only an object with another identity would be another object.
	identity = "00000000-0000-0000-0000-000000000001"
	// Each service that asks for an address gets this one, so that an upgrade which fixes another address is a change.
	allocatedAddress = "10.96.0.10"
)

// fillIn sets what the API server sets before it validates an object: in the metadata, in jobs and in services.
func fillIn(object runtime.Object) error {
	if err := fillInMetadata(object); err != nil {
		return err
	}
	switch object := object.(type) {
	case *batch.Job:
		if !*object.Spec.ManualSelector {
			selectByIdentity(object)
		}
	case *core.Service:
		spec := &object.Spec
		if spec.Type != core.ServiceTypeExternalName && spec.ClusterIP == "" {
			spec.ClusterIP = allocatedAddress
		}
		if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
	}
	return nil
}

func fillInMetadata(object runtime.Object) error {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	metadata.SetUID(identity)
	// An update names the version that it changes.
	metadata.SetResourceVersion("1")
	switch object.(type) {
	case *core.Namespace, *rbac.ClusterRole, *rbac.ClusterRoleBinding:
	default:
		// The namespace of the client, such as the one that `helm install` creates.
		if metadata.GetNamespace() == "" {
			metadata.SetNamespace(metav1.NamespaceDefault)
		}
	}
	return nil
}

// selectByIdentity adds the selector and the labels by which a job finds its pods.
func selectByIdentity(job *batch.Job) {
	labels := map[string]string{
		batch.LegacyJobNameLabel: job.Name, batch.JobNameLabel: job.Name,
		batch.LegacyControllerUidLabel: identity, batch.ControllerUidLabel: identity,
	}
	// A label of the manifest remains, so that the validation reports it if it differs.
	for name, value := range job.Spec.Template.Labels {
		labels[name] = value
	}
	job.Spec.Template.Labels = labels
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: identity}}
	}
}
