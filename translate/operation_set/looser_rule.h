// The changes of a field's rule that a later release may make: the field accepts more than before.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_LOOSER_RULE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_LOOSER_RULE_H_

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Whether `added` is a later release than the program: it has all operations of the origin of `base`, and one whose day
// is after each day of these. An operation of one's own with a late day does not make old protos a later release.
bool IsLaterRelease(const OperationSet& base, const OperationSet& added);

// Returns the messages in the requests that the gateway itself carries out or that name any path: code of the gateway
// relies on the rules of their fields.
absl::flat_hash_set<const google::protobuf::Descriptor*> MessagesOfTheGateway(const OperationSet& base);

// Returns the rule of `base`, with those limits of `added`, the same field of another set, that accept more:
//
// - the field is no longer required, or a required field may be empty;
// - a smaller minimum or smallest number of elements; a larger maximum, length or number of elements. A limit that
//   `added` lacks stays.
//
// Every other member of the rule is that of `base`, and what the field accepted before is sent as before: so a list
// stays required, and a text that may be empty. The rule does not change at all if the field has a guard or a role, is
// called organization_id, or is a message. So no request without a message can lead round the guards inside it.
v1::FieldRule LooserRule(const google::protobuf::FieldDescriptor& base, const google::protobuf::FieldDescriptor& added);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_LOOSER_RULE_H_
