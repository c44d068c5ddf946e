// Finds the fields that files of the operator have added to guarded requests, and that nobody has reviewed.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_UNREVIEWED_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_UNREVIEWED_H_

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns the guard of `field`, or FIELD_GUARD_UNSPECIFIED if the gateway does not know the guard.
v1::FieldGuard GuardOf(const google::protobuf::FieldDescriptor& field);

// Returns the fields of `set` that are not built in and have no guard, not even FIELD_GUARD_NONE, if
//
// - a built-in message contains them, at any depth, and
// - a request contains this message, and a guarded field, at any depth.
//
// Such a field can state a value that the guards of the request do not check. A newer name of another field
// (FieldRule.replaces) cannot: the guard of that field checks its value.
absl::flat_hash_set<const google::protobuf::FieldDescriptor*> UnreviewedFields(const OperationSet& set);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_UNREVIEWED_H_
