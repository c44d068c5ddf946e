package main

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// A definition is one version of a CustomResourceDefinition.
type definition struct {
	namespaced bool
	schema     *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// A customObject is an object of a CustomResourceDefinition.
type customObject struct {
	*definition
	object *unstructured.Unstructured
}

// decodeCustom returns the object with the defaults of its definition, or else its faults. An unknown field and a key
// that is there twice are faults.
func (r *references) decodeCustom(object manifest) (customObject, []string) {
	definition, err := r.definition(object.kind)
	if err != nil {
		return customObject{}, []string{err.Error()}
	}
	text, err := yaml.YAMLToJSONStrict(object.text)
	if err != nil {
		return customObject{}, []string{err.Error()}
	}
	content := map[string]any{}
	if err := json.Unmarshal(text, &content); err != nil {
		return customObject{}, []string{err.Error()}
	}
	decoded := customObject{definition, &unstructured.Unstructured{Object: content}}

	unknown := pruning.PruneWithOptions(content, definition.schema, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	wrong, unknownMetadata := objectmeta.CoerceWithOptions(nil, content, definition.schema, true,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	var faults []string
	for _, path := range append(unknown, unknownMetadata...) {
		faults = append(faults, fmt.Sprintf("unknown field %q", path))
	}
	if wrong != nil {
		faults = append(faults, wrong.Error())
	}
	if len(faults) > 0 {
		return customObject{}, faults
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(content, definition.schema)
	defaulting.Default(content, definition.schema)
	if definition.namespaced && object.namespace == "" {
		decoded.object.SetNamespace(metav1.NamespaceDefault)
	}
	decoded.object.SetResourceVersion("1")
	return decoded, nil
}

// validate returns why the API server would refuse to create the object.
func (c customObject) validate() field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(c.object, c.namespaced, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, c.object.Object, c.validator)...)
	return append(errs, c.validateStructure(nil, len(errs) == 0)...)
}

// validateUpdate returns why the API server would refuse to change the object `before` into this one.
func (c customObject) validateUpdate(before customObject) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(c.object, before.object, field.NewPath("metadata"))
	old := before.object.Object
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, c.object.Object, old, c.validator)...)
	return append(errs, c.validateStructure(old, len(errs) == 0)...)
}

// validateStructure checks what the schema cannot state. The rules are expressions that need a valid object. `before`
// is nil for a new object.
func (c customObject) validateStructure(before any, valid bool) field.ErrorList {
	content := c.object.Object
	errs := objectmeta.Validate(nil, content, c.schema, false)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.schema, content)...)
	if c.rules == nil || !valid || len(errs) > 0 {
		return errs
	}
	broken, _ := c.rules.Validate(context.Background(), nil, c.schema, content, before, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}
