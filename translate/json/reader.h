// The only JSON reader of the program: strict, bounded, and exact about numbers.
//
//   std::string text = R"({"id":"a","n":18446744073709551616,"list":[1,2]})";
//   absl::Status read = ReadJsonObject(text, [&](JsonValue& root) {
//     return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
//       if (name == "id" && value.kind() == JsonValue::Kind::kString) id = std::string(*value.string());
//       return absl::OkStatus();
//     });
//   });
//
// Accepts exactly RFC 8259 in UTF-8 with these restrictions: one object and nothing after it, no member name twice in
// one object, no deeper than kMaxJsonDepth. A string or member name may contain an escaped half of a surrogate pair,
// which is not a character: see JsonValue::string and IsUnicode. Values that the callback does not visit are checked
// too. The parser is simdjson's On-Demand API; this class checks what that leaves to its user: number grammar,
// literals, escapes of unread strings, and duplicates.
#ifndef STAMPGATE_TRANSLATE_JSON_READER_H_
#define STAMPGATE_TRANSLATE_JSON_READER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Nested objects and arrays, including the root.
inline constexpr int kMaxJsonDepth = 64;

// simdjson may read (and ignore) this many bytes after a text. A string with that much spare capacity is not
// reallocated.
inline constexpr size_t kJsonPadding = 64;

// Whether a member name is Unicode. A name with an escaped surrogate that lacks its other half is not: the reader
// encodes the surrogate in three bytes, as if it were a character. Such a name is not UTF-8, and differs from every
// other name of its object.
bool IsUnicode(absl::string_view name);

class JsonParse;

// One value, valid while the callback that received it runs. A container can be visited once.
class JsonValue {
 public:
  enum class Kind { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

  using OnMember = absl::FunctionRef<absl::Status(absl::string_view name, JsonValue& value)>;
  using OnElement = absl::FunctionRef<absl::Status(size_t index, JsonValue& value)>;

  Kind kind() const { return kind_; }

  // The value of a kString in UTF-8. Nothing if it is not Unicode, because an escaped surrogate lacks its other half.
  // The view is valid as long as the document.
  const std::optional<absl::string_view>& string() const { return string_; }

  // A kNumber in its original spelling.
  absl::string_view number() const { return text_; }

  // The value's JSON text in the document. For a container, call it either before any visit, which it then makes, or
  // after a complete one.
  absl::StatusOr<absl::string_view> Text();

  // Calls `on_member` for each member of a kObject in order. Ends at the first error, its own or the callback's.
  absl::Status ForEachMember(OnMember on_member);

  // Calls `on_element` for each element of a kArray in order. Ends at the first error.
  absl::Status ForEachElement(OnElement on_element);

 private:
  friend class JsonParse;

  JsonParse* parse_ = nullptr;
  void* value_ = nullptr;  // simdjson's value; a void pointer keeps simdjson out of this header
  int depth_ = 0;
  bool visited_ = false;
  bool finished_ = false;  // visited to its end, and nothing after it has been read
  Kind kind_ = Kind::kNull;
  absl::string_view text_;
  std::optional<absl::string_view> string_;
};

// Reads `text`, which must be one JSON object, and passes it to `on_root`. May increase the capacity of `text`. Errors:
// kInvalidArgument with a reason and a byte offset, never with a piece of the text; and the error that `on_root`
// returns.
absl::Status ReadJsonObject(std::string& text, absl::FunctionRef<absl::Status(JsonValue& root)> on_root);

// Whether `text` is one strict JSON object.
absl::Status CheckJsonObject(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_JSON_READER_H_
