// The mapping between a protobuf message and a JSON object, compiled once from the message's descriptor and options.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_
#define STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

struct MessagePlan;

// The JSON form of one value of a field. proto/stampgate/v1/options.proto defines the form of each proto type.
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
  kBytes,        // a string of base64 with padding (RFC 4648, section 4)
  kStringMap,    // an object whose members are strings; the field is a map<string, string>
  kJsonText,     // a JSON value; the proto field contains its JSON text
  kJsonMembers,  // members beside those of the other fields; the proto field contains an object's JSON text
  kOpaque,       // none: the field is not part of the JSON, and the plan does not describe its messages
};

// The JSON texts of the values of an enum, without the zero value.
struct EnumPlan {
  absl::flat_hash_map<std::string, int> numbers;  // from JSON text to number
  absl::flat_hash_map<int, std::string> json;     // from number to quoted JSON text
};

// The mapping and the rules of one field. A FieldPlan contains all options that rendering, parsing and validation need,
// so that this code never reads the options of a descriptor.
struct FieldPlan {
  const google::protobuf::FieldDescriptor* field = nullptr;
  JsonForm form = JsonForm::kString;
  std::string json_name;
  std::string json_key;  // the text that precedes the value in JSON: the quoted name and a colon

  bool required = false;
  bool may_be_empty = false;
  bool written_if_unset = false;  // a required list, map or text that has no presence: unset, it is the empty value
  bool secret = false;
  v1::FieldRole role = v1::FIELD_ROLE_UNSPECIFIED;
  bool in_json = true;   // false if fields of this form or role are not part of the JSON
  bool is_list = false;  // whether a parsed message stores each occurrence of the field: a list, a map, or form kOpaque
  std::optional<uint64_t> minimum;
  std::optional<uint64_t> maximum;
  std::optional<uint32_t> max_bytes;
  std::optional<uint32_t> max_characters;
  uint32_t min_elements = 0;
  uint32_t max_elements = 1;  // of a field that is no list: 1
  v1::FieldGuard guard = v1::FIELD_GUARD_UNSPECIFIED;
  // Whether nobody has reviewed that no grant needs to limit the value. Only then, `guard` is not set.
  bool unreviewed = false;

  // For a kMessage or kTimestamp: the plan of the field's message. For a kStringMap: the plan of the map's entries,
  // whose first field is the key and whose second field is the value.
  const MessagePlan* message = nullptr;
  const EnumPlan* values = nullptr;  // for a kEnum

  const FieldPlan* replaced = nullptr;       // the field of which this one is a newer name, or null
  std::string since;                         // the day of that name
  std::vector<const FieldPlan*> successors;  // the newer names of this field, ordered by their days
};

// Returns the field under whose name upstream knows the value of `field` on `day`: `field` itself, or one of its
// successors. The empty day precedes all others.
const FieldPlan& NamedOn(const FieldPlan& field, absl::string_view day);

// The mapping and the rules of one message. Immutable, so threads may share it.
struct MessagePlan {
  const google::protobuf::Descriptor* descriptor = nullptr;
  std::vector<FieldPlan> fields;                                          // ordered by field number
  absl::flat_hash_map<absl::string_view, const FieldPlan*> by_json_name;  // without the field of form kJsonMembers
  const FieldPlan* json_members = nullptr;                                // the field of form kJsonMembers, or null
  const FieldPlan* unrecognized = nullptr;  // the map field of that name, which is opaque, or null
  const FieldPlan* client_stamp = nullptr;  // the field of type ClientStamp, which is opaque, or null
  std::vector<const FieldPlan*> at_most_one;
  std::vector<v1::FieldGuard> shared_guards;  // those that state one thing, and that several single fields have
  // Required fields that may be empty, and whose absence a message cannot show: lists, maps, and texts without
  // presence.
  std::vector<const FieldPlan*> required_empties;
  std::vector<const FieldPlan*> successors;  // the fields that are newer names of others

  // Returns the plan of the field with this proto name, or null.
  const FieldPlan* Find(absl::string_view proto_name) const;

  // Returns the plan of the field with this number, or null.
  const FieldPlan* FindNumber(int number) const;
};

// The largest number of elements of a list or a map whose proto states no smaller one.
inline constexpr uint32_t kMaxElements = 10'000;

// How deep messages may be nested: no JSON text that the gateway reads is deeper.
inline constexpr int kMaxNesting = 64;

// Returns `name` as upstream's parser may compare it with the names of other members: some parsers also accept the
// field names of a proto, with underscores, and some ignore case.
std::string ComparedJsonName(absl::string_view name);

// Owns the plans of all messages that operations use. The program compiles the plans at its start; later, threads only
// read them.
class MessagePlans {
 public:
  using Fields = absl::flat_hash_set<const google::protobuf::FieldDescriptor*>;

  // `operator_name` is upstream's name from the config. In lower case, it replaces "{operator}" in JSON names.
  // `unreviewed` are the fields that nobody has reviewed.
  explicit MessagePlans(absl::string_view operator_name, Fields unreviewed = {});

  // Compiles the plan of `descriptor` and the plans of all messages inside it, and returns the plan of `descriptor`. A
  // message may contain itself, but may not be nested deeper in `descriptor` than kMaxNesting. Errors:
  // kFailedPrecondition, with a message that names the field whose type, options or depth has no JSON form, or whose
  // JSON name or role another field has. In this case the proto is faulty; do not use this object afterwards.
  absl::StatusOr<const MessagePlan*> Compile(const google::protobuf::Descriptor* descriptor);

  // Returns the plan of `descriptor`, or null if it was not compiled.
  const MessagePlan* Find(const google::protobuf::Descriptor* descriptor) const;

 private:
  // A message whose plan must still be compiled.
  struct Pending {
    MessagePlan* plan;
    int depth;
  };

  MessagePlan& PlanOf(const google::protobuf::Descriptor* descriptor, int depth);
  absl::Status CompileFields(const Pending& pending);
  absl::Status CompileField(const google::protobuf::FieldDescriptor* field, const Pending& pending);
  absl::StatusOr<const EnumPlan*> CompileEnum(const google::protobuf::EnumDescriptor* type);

  std::string operator_name_;
  Fields unreviewed_;
  absl::flat_hash_map<const google::protobuf::Descriptor*, std::unique_ptr<MessagePlan>> plans_;
  absl::flat_hash_map<const google::protobuf::EnumDescriptor*, std::unique_ptr<EnumPlan>> enums_;
  std::vector<Pending> pending_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_PLAN_H_
