package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// A release of Kubernetes other than the one whose code this program has.
type release struct {
	version string
	// Has one file for each kind: an object of the kind in which every field has a value.
	samples string
}

// findReleases returns the releases whose module k8s.io/api is in the folder of the references.
func findReleases(folder string) ([]release, error) {
	modules, err := filepath.Glob(filepath.Join(folder, "k8s.io", "api@v0.*"))
	if err != nil || len(modules) == 0 {
		return nil, fmt.Errorf("%q does not have the files that module_files.txt lists", folder)
	}
	var releases []release
	for _, module := range modules {
		_, version, _ := strings.Cut(filepath.Base(module), "@v0.")
		releases = append(releases, release{"1." + version, filepath.Join(module, "testdata", "HEAD")})
	}
	return releases, nil
}

// newerFields returns the fields of the object that another release does not have. That release would ignore them.
func (r *references) newerFields(object manifest) []string {
	var content map[string]any
	if err := yaml.Unmarshal(object.text, &content); err != nil {
		return nil // decode reports it
	}
	group := object.kind.Group
	if group == "" {
		group = "core"
	}
	file := fmt.Sprintf("%s.%s.%s.json", group, object.kind.Version, object.kind.Kind)
	var faults []string
	for _, release := range r.releases {
		sample, err := release.readSample(file)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, path := range fieldsWithout(sample, content, "") {
			faults = append(faults, fmt.Sprintf("Kubernetes %s has no field %q", release.version, path[1:]))
		}
	}
	return faults
}

func (r release) readSample(file string) (any, error) {
	text, err := os.ReadFile(filepath.Join(r.samples, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("Kubernetes %s does not have this kind, or module_files.txt lists no %s", r.version, file)
	}
	if err != nil {
		return nil, err
	}
	var sample any
	return sample, json.Unmarshal(text, &sample)
}

// fieldsWithout returns the paths of the fields of `content` that the sample does not have.
func fieldsWithout(sample, content any, path string) []string {
	var missing []string
	switch content := content.(type) {
	case map[string]any:
		known, ok := sample.(map[string]any)
		if !ok || isFree(known, path) {
			return nil // such as a label
		}
		for name, value := range content {
			at := path + "." + name
			if inside, ok := known[name]; ok {
				missing = append(missing, fieldsWithout(inside, value, at)...)
			} else {
				missing = append(missing, at)
			}
		}
	case []any:
		known, ok := sample.([]any)
		if !ok || len(known) != 1 {
			return nil
		}
		for i, value := range content {
			missing = append(missing, fieldsWithout(known[0], value, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return missing
}

// isFree returns whether any key may be in the map at this path: a sample then has one key, named after the field.
func isFree(sample map[string]any, path string) bool {
	name := path[strings.LastIndex(path, ".")+1:]
	_, ok := sample[name+"Key"]
	return ok && len(sample) == 1
}
