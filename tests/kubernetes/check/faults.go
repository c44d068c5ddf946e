package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setFaults returns why an API server would refuse objects of the set.
func setFaults(references *references, objects set) []string {
	var faults []string
	seen := map[key]bool{}
	for _, object := range objects.objects {
		messages := objectFaults(references, object)
		if seen[object.key()] {
			messages = append(messages, "the set has this object twice")
		}
		seen[object.key()] = true
		for _, message := range messages {
			faults = append(faults, objects.fault(object, message))
		}
	}
	return faults
}

func objectFaults(references *references, object manifest) []string {
	if !scheme.Recognizes(object.kind) {
		custom, faults := references.decodeCustom(object)
		if len(faults) > 0 {
			return faults
		}
		return messages(custom.validate())
	}
	faults := references.newerFields(object)
	decoded, err := decode(object)
	if err != nil {
		return append(faults, err.Error())
	}
	faults = append(faults, messages(validate(decoded))...)
	faults = append(faults, podSecurityFaults(decoded)...)
	return append(faults, warnings(decoded)...)
}

// upgradeFaults returns why an API server that has the objects of `before` would refuse those of `after`. An object
// that only one of the sets has is no fault.
func upgradeFaults(references *references, before, after set) []string {
	old := map[key]manifest{}
	for _, object := range before.objects {
		old[object.key()] = object
	}
	var faults []string
	for _, object := range after.objects {
		previous, found := old[object.key()]
		if !found {
			continue
		}
		for _, message := range changeFaults(references, previous, object) {
			faults = append(faults, after.fault(object, message))
		}
	}
	return faults
}

func changeFaults(references *references, before, after manifest) []string {
	if !scheme.Recognizes(after.kind) {
		old, faults := references.decodeCustom(before)
		if len(faults) > 0 {
			return faults
		}
		custom, faults := references.decodeCustom(after)
		if len(faults) > 0 {
			return faults
		}
		return messages(custom.validateUpdate(old))
	}
	old, err := decode(before)
	if err != nil {
		return []string{err.Error()}
	}
	decoded, err := decode(after)
	if err != nil {
		return []string{err.Error()}
	}
	return messages(validateUpdate(decoded, old))
}

// messages returns each error once: updates are validated twice, as an object and as a change.
func messages(errs field.ErrorList) []string {
	var result []string
	seen := map[string]bool{}
	for _, err := range errs {
		if len(fmt.Sprint(err.BadValue)) > 200 {
			err.BadValue = field.OmitValueType{} // such as the template of a job
		}
		if message := err.Error(); !seen[message] {
			seen[message] = true
			result = append(result, message)
		}
	}
	return result
}
