// Checks manifests as Kubernetes' API server does, with Kubernetes' own code: decoding, defaults, validation, Pod
// Security, and the schemas and rules of CustomResourceDefinitions.
//
//	kubernetes-check --references FOLDER MANIFESTS...              prints each fault on a line
//	kubernetes-check --references FOLDER --upgrade OLD NEW         prints what an upgrade from OLD to NEW cannot change
//	kubernetes-check --render FOLDER                               prints the objects of a kustomization
//
// MANIFESTS is a file with a stream of YAML, a folder with a kustomization, or "-" for standard input. The folder of
// references has the files that module_files.txt lists. Exits with 0 if there is no fault, with 1 if there are faults,
// and with 2 if the manifests or the references cannot be read.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	folder := flag.String("references", "", "the folder with the files that module_files.txt lists")
	upgrade := flag.Bool("upgrade", false, "check the upgrade from the first manifests to the second")
	rendered := flag.Bool("render", false, "print the objects of a kustomization")
	flag.Parse()

	faults, err := run(*folder, *upgrade, *rendered, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// run returns one line for each fault.
func run(folder string, upgrade, rendered bool, sources []string) ([]string, error) {
	if rendered {
		return nil, printRendered(sources)
	}
	references, err := readReferences(folder)
	if err != nil {
		return nil, err
	}
	sets := make([]set, len(sources))
	for i, source := range sources {
		if sets[i], err = readSet(source); err != nil {
			return nil, err
		}
	}
	if upgrade {
		if len(sets) != 2 {
			return nil, fmt.Errorf("--upgrade needs the manifests of two releases")
		}
		return upgradeFaults(references, sets[0], sets[1]), nil
	}
	var faults []string
	for i, source := range sources {
		found := setFaults(references, sets[i])
		faults = append(faults, found...)
		if len(found) == 0 {
			fmt.Printf("%s: %d objects are valid\n", source, len(sets[i].objects))
		}
	}
	return faults, nil
}

func printRendered(sources []string) error {
	for _, source := range sources {
		text, err := render(source)
		if err != nil {
			return err
		}
		os.Stdout.Write(text)
	}
	return nil
}
