// The mapping between a protobuf message and a JSON object, compiled once from descriptors and their options.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_
#define STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

struct MessagePlan;

// The JSON form of one value of a field; proto/stampgate/v1/options.proto defines which proto type has which.
enum class JsonForm {
  kString,
  kBool,
  kUint64,       // a string of decimal digits
  kInt64,        // a string of decimal digits
  kUint32,       // a number
  kInt32,        // a number
  kEnum,         // a string
  kTimestamp,    // {"seconds": string, "nanos": string}
  kMessage,      // an object
  kJsonText,     // the field holds the JSON text
  kJsonMembers,  // the field holds an object's JSON text, whose members are written beside the other fields
};

// One field, with everything that rendering, parsing and validation need, so that none of them reads options again.
struct FieldPlan {
  const google::protobuf::FieldDescriptor* field = nullptr;
  JsonForm form = JsonForm::kString;
  std::string json_name;
  std::string json_key;  // the name as it is rendered: quoted, with its colon

  bool required = false;
  bool may_be_empty = false;
  bool secret = false;
  v1::FieldRole role = v1::FIELD_ROLE_UNSPECIFIED;
  bool in_json = true;  // false if its role keeps it out of the JSON
  std::optional<uint64_t> minimum;
  std::optional<uint64_t> maximum;
  std::optional<uint32_t> max_bytes;
  std::optional<uint32_t> max_characters;
  v1::FieldGuard guard = v1::FIELD_GUARD_UNSPECIFIED;

  const MessagePlan* message = nullptr;                // for a kMessage
  absl::flat_hash_map<std::string, int> enum_numbers;  // JSON text -> number, for a kEnum, without the zero value
  absl::flat_hash_map<int, std::string> enum_json;     // number -> quoted JSON text
};

// One message. Immutable; any number of threads may read it.
struct MessagePlan {
  const google::protobuf::Descriptor* descriptor = nullptr;
  std::vector<FieldPlan> fields;                                          // by field number
  absl::flat_hash_map<absl::string_view, const FieldPlan*> by_json_name;  // without the field of form kJsonMembers
  const FieldPlan* json_members = nullptr;                          // the field of form kJsonMembers, if there is one
  const google::protobuf::FieldDescriptor* unrecognized = nullptr;  // the map of that name, if there is one
  const google::protobuf::FieldDescriptor* client_stamp =
      nullptr;  // the ClientStamp, which is never in the JSON, if there is one
  std::vector<const FieldPlan*> at_most_one;
  std::vector<const FieldPlan*> required_lists;

  // The plan of the field with this proto name, or null.
  const FieldPlan* Find(absl::string_view proto_name) const;
};

// Owns the plans of all messages that operations use. Compile them at start-up; afterwards plans are only read.
class MessagePlans {
 public:
  // `operator_name` in lower case replaces "{operator}" in JSON names.
  explicit MessagePlans(absl::string_view operator_name);

  // The plan of `descriptor`; also compiles every message inside it. A message may contain itself. Errors:
  // kFailedPrecondition, naming the field whose type or options have no JSON form. That is a fault of the proto; do not
  // use this object afterwards.
  absl::StatusOr<const MessagePlan*> Compile(const google::protobuf::Descriptor* descriptor);

  // The plan of a compiled message, or null.
  const MessagePlan* Find(const google::protobuf::Descriptor* descriptor) const;

 private:
  absl::Status CompileField(const google::protobuf::FieldDescriptor* field, MessagePlan& plan);

  std::string operator_name_;
  absl::flat_hash_map<const google::protobuf::Descriptor*, std::unique_ptr<MessagePlan>> plans_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_
