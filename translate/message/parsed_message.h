// A request message, parsed from its bytes by its plan. No generated class of the message is necessary.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_
#define STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/arena.h"
#include "translate/message/plan.h"

namespace stampgate {

class ParsedMessage;

// One value of a field. The form of the field decides which function may be called.
class FieldValue {
 public:
  // The value of a bool, an enum or an integer. A negative integer is extended to 64 bits.
  uint64_t number() const { return number_; }

  // The value of a string, which is UTF-8, or of bytes. For a field of form kOpaque: the bytes of the message, which
  // were not parsed.
  absl::string_view text() const { return {data_, size_}; }

  // The value of a message or of a timestamp, or an entry of a map.
  const ParsedMessage& message() const { return *message_; }

 private:
  friend class MessageParser;

  union {
    uint64_t number_;
    const char* data_;
    ParsedMessage* message_;
  };
  size_t size_;  // of a text
};

// Immutable after ParseMessage, so threads may share it. Refers to its plan, to the parsed bytes and to the arena.
class ParsedMessage {
 public:
  // An empty message.
  explicit ParsedMessage(const MessagePlan& plan) : plan_(&plan) {}

  const MessagePlan& plan() const { return *plan_; }

  // Returns the elements of a list, in their order, or the entries of a map, ordered by the bytes of their keys, with
  // no key twice. For any other field: returns one value, or none if the field is not set. A field without presence is
  // not set if its value is zero or empty. `field` must belong to plan().
  absl::Span<const FieldValue> Values(const FieldPlan& field) const;

  bool Has(const FieldPlan& field) const { return !Values(field).empty(); }

  // Return the value of a field that is neither a list nor a map; zero or an empty text if the field is not set.
  uint64_t Number(const FieldPlan& field) const;
  absl::string_view Text(const FieldPlan& field) const;

  // Returns the number of each field in the bytes that the plan does not define, or that has another wire type than the
  // plan defines.
  absl::Span<const FieldValue> unknown() const { return {unknown_.values, unknown_.size}; }

 private:
  friend class MessageParser;

  struct List {
    FieldValue* values;
    size_t size;
    size_t capacity;
  };

  const MessagePlan* plan_;
  List* lists_ = nullptr;  // of each field, in the order of the plan; null if no field is set
  List unknown_ = {};
};

// The fields of a google.protobuf.Timestamp.
struct Timestamp {
  int64_t seconds;
  int32_t nanos;
};

// `message` must be the value of a field of form kTimestamp.
Timestamp TimestampIn(const ParsedMessage& message);

// An entry of a map<string, string>. Both texts are UTF-8.
struct MapEntry {
  absl::string_view key;
  absl::string_view value;
};

// `entry` must be a value of a field of form kStringMap.
MapEntry MapEntryIn(const ParsedMessage& entry);

// Parses `bytes` exactly as Protocol Buffers parses them into a message of `plan`: the last value of a field wins,
// messages are merged, lists may be packed or not, the last entry of a key wins, and strings must be UTF-8. But an
// entry keeps its unknown fields, which Protocol Buffers ignores. Does not parse fields of form kOpaque. Returns null
// if `bytes` is not such a message, except that a fault inside an unknown group may remain undetected. `bytes`, `plan`
// and `arena` must outlive the result.
//
// Takes time and memory proportional to the size of `bytes`, and time to sort the entries of maps.
const ParsedMessage* ParseMessage(const MessagePlan& plan, absl::string_view bytes, google::protobuf::Arena& arena);

// Returns the bytes that Protocol Buffers' deterministic serialization gives for `message` without the fields
// `left_out`, each of which may be null. Omits unknown fields, and fields of form kOpaque.
std::string SerializeDeterministically(const ParsedMessage& message,
                                       std::initializer_list<const FieldPlan*> left_out = {});

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_
