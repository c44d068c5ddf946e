#include "translate/operation_set/nested_messages.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace stampgate {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Keeps a list of the messages to visit, because a recursion over nested messages could use up the stack.
std::vector<const Descriptor*> WithNestedMessages(std::vector<const Descriptor*> messages) {
  absl::flat_hash_set<const Descriptor*> found;
  std::vector<const Descriptor*> all;
  std::vector<const Descriptor*> pending = std::move(messages);
  while (!pending.empty()) {
    const Descriptor* message = pending.back();
    pending.pop_back();
    if (!found.insert(message).second) continue;
    all.push_back(message);
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* field = message->field(i);
      if (field->message_type() != nullptr && !field->is_map()) pending.push_back(field->message_type());
    }
  }
  return all;
}

}  // namespace stampgate
