package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// The references are files of Go modules: CustomResourceDefinitions, and samples of objects of other releases of
// Kubernetes.
type references struct {
	folder string
	// The definitions that were read, by their versions.
	definitions map[schema.GroupVersionKind]*definition
	// The API groups whose files were read.
	read map[string]bool
	// The folders of the samples, by release.
	releases []release
}

func readReferences(folder string) (*references, error) {
	releases, err := findReleases(folder)
	if err != nil {
		return nil, err
	}
	return &references{folder, map[schema.GroupVersionKind]*definition{}, map[string]bool{}, releases}, nil
}

// definition returns the definition of a kind. Reads only files of its API group, because some definitions are large:
// each project names such a file after the group and the kind.
func (r *references) definition(kind schema.GroupVersionKind) (*definition, error) {
	if !r.read[kind.Group] {
		r.read[kind.Group] = true
		// Below the folder are the modules' paths, which have several depths.
		err := fs.WalkDir(os.DirFS(r.folder), ".", func(path string, _ fs.DirEntry, err error) error {
			if matches, _ := filepath.Match(kind.Group+"_*.yaml", filepath.Base(path)); err != nil || !matches {
				return err
			}
			return r.readDefinition(filepath.Join(r.folder, path))
		})
		if err != nil {
			return nil, err
		}
	}
	found, ok := r.definitions[kind]
	if !ok {
		return nil, fmt.Errorf("no kind %q of %q is known to Kubernetes or to module_files.txt", kind.Kind,
			kind.GroupVersion())
	}
	return found, nil
}

func (r *references) readDefinition(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &external); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	var custom apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		&external, &custom, nil); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, version := range custom.Spec.Versions {
		if !version.Served {
			continue
		}
		read, err := newDefinition(&custom, version.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.definitions[schema.GroupVersionKind{
			Group: custom.Spec.Group, Version: version.Name, Kind: custom.Spec.Names.Kind,
		}] = read
	}
	return nil
}

func newDefinition(custom *apiextensions.CustomResourceDefinition, version string) (*definition, error) {
	schemas, err := apiextensions.GetSchemaForVersion(custom, version)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(schemas.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	structure, err := structural.NewStructural(schemas.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(structure); err != nil {
		return nil, err
	}
	return &definition{
		namespaced: custom.Spec.Scope == apiextensions.NamespaceScoped,
		schema:     structure,
		validator:  validator,
		rules:      cel.NewValidator(structure, true, celconfig.PerCallLimit),
	}, nil
}
