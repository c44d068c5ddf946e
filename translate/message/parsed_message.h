// A request message, parsed from its bytes by its plan. No generated class of the message is necessary.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_
#define STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "translate/message/plan.h"
#include "translate/message/request_memory.h"

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
  friend class ParsedMessage;

  union {
    uint64_t number_;
    const char* data_;
    ParsedMessage* message_;
    FieldValue* elements_;
  };
  // In a ParsedMessage, each field has one FieldValue: its only value, which is set if capacity_ is 1, or a list, which
  // has room for capacity_ elements.
  uint32_t size_;  // of a text, or the number of elements in the bytes, of which the first ones are stored
  uint32_t capacity_;
};

// Immutable after ParseMessage, so threads may share it. Refers to its plan, to the parsed bytes and to the memory of
// the request.
class ParsedMessage {
 public:
  // An empty message.
  explicit ParsedMessage(const MessagePlan& plan) : plan_(&plan) {}

  const MessagePlan& plan() const { return *plan_; }

  // Returns the elements of a list, in their order, or the entries of a map, ordered by the bytes of their keys, with
  // no key twice; at most the first max_elements. For any other field: returns one value, or none if the field is not
  // set. A field without presence is not set if its value is zero or empty. `field` must belong to plan().
  absl::Span<const FieldValue> Values(const FieldPlan& field) const;

  bool Has(const FieldPlan& field) const { return !Values(field).empty(); }

  // Returns the number of elements that the bytes have for a list. It can exceed max_elements; of a map, it then also
  // counts entries whose keys are equal.
  size_t Count(const FieldPlan& field) const;

  // Returns the field under whose name the bytes have the value of `field`: `field`, or one of its newer names.
  const FieldPlan& NameOf(const FieldPlan& field) const;

  // Return the value of a field that is neither a list nor a map; zero or an empty text if the field is not set.
  uint64_t Number(const FieldPlan& field) const;
  absl::string_view Text(const FieldPlan& field) const;

  // The fields in the bytes that the plan does not define, or that have another wire type than the plan defines: how
  // many there are, and the numbers of the first kKeptUnknown.
  static constexpr size_t kKeptUnknown = 20;
  size_t unknown_count() const { return unknown_ == nullptr ? 0 : unknown_->count; }
  absl::Span<const int> unknown() const;

 private:
  friend class MessageParser;

  struct Unknown {
    size_t count;
    int numbers[kKeptUnknown];
  };

  const FieldValue& At(const FieldPlan& field) const;

  // Sets the value of a newer name whose value was moved to the field that it replaces. It differs from all other
  // values of a field that is not set.
  static constexpr uint64_t kMoved = 1;

  const MessagePlan* plan_;
  FieldValue* fields_ = nullptr;  // of each field, in the order of the plan; null if no field is set
  Unknown* unknown_ = nullptr;    // null if there are no such fields
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
// entry keeps its unknown fields, which Protocol Buffers ignores. Moves the value of a newer name (FieldRule.replaces)
// to the field that it replaces, so that a message has one form. Such a value stays in its own field only if the older
// field is set too, or if it is a text that the older field, an enum, does not list. Does not parse fields of form
// kOpaque, and does not store the elements of a list after the first max_elements. `bytes`, `plan` and `memory` must
// outlive the result. Errors, whose messages continue "the request":
//   - kInvalidArgument: `bytes` is not such a message, except that a fault inside an unknown group or inside an element
//     that is not stored may remain undetected
//   - kResourceExhausted: the values need more memory than `memory` has left; the function allocates at most that
//
// Takes time proportional to the size of `bytes`, and time to sort the entries of maps.
absl::StatusOr<const ParsedMessage*> ParseMessage(const MessagePlan& plan, absl::string_view bytes,
                                                  RequestMemory& memory);

// Returns the bytes that Protocol Buffers' deterministic serialization gives for `message` without the fields
// `left_out`, each of which may be null. Omits unknown fields, and fields of form kOpaque.
std::string SerializeDeterministically(const ParsedMessage& message,
                                       std::initializer_list<const FieldPlan*> left_out = {});

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_PARSED_MESSAGE_H_
