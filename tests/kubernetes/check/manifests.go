package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// A manifest is one document of a stream of YAML.
type manifest struct {
	kind schema.GroupVersionKind
	// Both can be empty.
	namespace, name string
	text            []byte
}

func (m manifest) String() string {
	name := m.name
	if m.namespace != "" {
		name = m.namespace + "/" + name
	}
	return m.kind.Kind + " " + name
}

// A key identifies an object in a cluster, whatever the version of its API.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

func (m manifest) key() key { return key{m.kind.GroupKind(), m.namespace, m.name} }

// A set has the manifests that somebody applies together.
type set struct {
	source  string
	objects []manifest
}

// fault returns the line that reports a fault of an object.
func (s set) fault(object manifest, message string) string {
	return fmt.Sprintf("%s: %s: %s", s.source, object, message)
}

// readSet reads a file, the kustomization in a folder, or standard input.
func readSet(source string) (set, error) {
	text, err := readText(source)
	if err != nil {
		return set{}, err
	}
	result := set{source: source}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return set{}, fmt.Errorf("%s: %w", source, err)
		}
		// Lenient, because decoding reports the faults of the document.
		var metadata *metav1.PartialObjectMetadata
		if err := sigsyaml.Unmarshal(document, &metadata); err != nil {
			return set{}, fmt.Errorf("%s: %w", source, err)
		}
		if metadata == nil {
			continue // only comments
		}
		result.objects = append(result.objects, manifest{
			metadata.GroupVersionKind(), metadata.Namespace, metadata.Name, document,
		})
	}
	if len(result.objects) == 0 {
		return set{}, fmt.Errorf("%s has no objects", source)
	}
	return result, nil
}

func readText(source string) ([]byte, error) {
	if source == "-" {
		return io.ReadAll(os.Stdin)
	}
	if about, err := os.Stat(source); err == nil && about.IsDir() {
		return render(source)
	}
	return os.ReadFile(source)
}
