#include "translate/operation_set/unreviewed.h"

#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "translate/operation_set/nested_messages.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Messages = absl::flat_hash_set<const Descriptor*>;

bool HasGuard(const Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i) {
    const v1::FieldGuard guard = GuardOf(*message.field(i));
    if (guard != v1::FIELD_GUARD_UNSPECIFIED && guard != v1::FIELD_GUARD_NONE) return true;
  }
  return false;
}

// Returns those of `messages` that contain, at any depth, a guarded field. `messages` contains all messages inside
// them.
Messages WithGuards(const std::vector<const Descriptor*>& messages) {
  absl::flat_hash_map<const Descriptor*, std::vector<const Descriptor*>> containers;
  std::vector<const Descriptor*> pending;
  for (const Descriptor* message : messages) {
    if (HasGuard(*message)) pending.push_back(message);
    for (int i = 0; i < message->field_count(); ++i) {
      if (message->field(i)->message_type() != nullptr)
        containers[message->field(i)->message_type()].push_back(message);
    }
  }
  Messages found;
  while (!pending.empty()) {
    const Descriptor* next = pending.back();
    pending.pop_back();
    if (!found.insert(next).second) continue;
    const auto around = containers.find(next);
    if (around != containers.end()) pending.insert(pending.end(), around->second.begin(), around->second.end());
  }
  return found;
}

}  // namespace

v1::FieldGuard GuardOf(const FieldDescriptor& field) {
  const v1::FieldGuard guard = field.options().GetExtension(v1::field).guard();
  return v1::FieldGuard_IsValid(guard) ? guard : v1::FIELD_GUARD_UNSPECIFIED;
}

absl::flat_hash_set<const FieldDescriptor*> UnreviewedFields(const OperationSet& set) {
  if (&set.origin() == &set) return {};
  std::vector<const Descriptor*> requests;
  for (const ApiMethod& method : set.methods()) requests.push_back(method.method->input_type());
  const Messages guarded = WithGuards(WithNestedMessages(requests));

  std::vector<const Descriptor*> guarded_requests;
  absl::c_copy_if(requests, std::back_inserter(guarded_requests),
                  [&](const Descriptor* request) { return guarded.contains(request); });
  std::vector<const Descriptor*> built_in;
  absl::c_copy_if(WithNestedMessages(guarded_requests), std::back_inserter(built_in),
                  [&](const Descriptor* message) { return set.IsBuiltIn(*message); });
  absl::flat_hash_set<const FieldDescriptor*> unreviewed;
  for (const Descriptor* message : WithNestedMessages(built_in)) {
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* field = message->field(i);
      const bool is_newer_name = !field->options().GetExtension(v1::field).replaces().empty();
      if (!set.IsBuiltIn(*field) && GuardOf(*field) == v1::FIELD_GUARD_UNSPECIFIED && !is_newer_name) {
        unreviewed.insert(field);
      }
    }
  }
  return unreviewed;
}

}  // namespace stampgate
