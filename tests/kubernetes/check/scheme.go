package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1 "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1 "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingv1 "k8s.io/kubernetes/pkg/apis/networking/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyv1 "k8s.io/kubernetes/pkg/apis/policy/v1"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacv1 "k8s.io/kubernetes/pkg/apis/rbac/v1"
)

// The stable versions of the APIs that manifests may use, and their internal versions, which the validation reads. (The
// packages `install` would add every version, and a fifth of the build's time.)
var scheme = runtime.NewScheme()

var decoder runtime.Decoder

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, appsv1.AddToScheme,
		autoscaling.AddToScheme, autoscalingv2.AddToScheme,
		batch.AddToScheme, batchv1.AddToScheme,
		core.AddToScheme, corev1.AddToScheme,
		networking.AddToScheme, networkingv1.AddToScheme,
		policy.AddToScheme, policyv1.AddToScheme,
		rbac.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	decoder = serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
}

// decode returns the internal version of the object, with defaults and with what the API server fills in before it
// validates. An unknown field and a key that is there twice are errors.
func decode(object manifest) (runtime.Object, error) {
	decoded, _, err := decoder.Decode(object.text, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := fillIn(decoded); err != nil {
		return nil, fmt.Errorf("cannot fill in the metadata: %w", err)
	}
	return decoded, nil
}
