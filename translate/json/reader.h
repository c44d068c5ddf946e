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
// RFC 8259 to the letter, in UTF-8, one object and nothing behind it, no member name twice in one object, no deeper
// than kMaxJsonDepth. A string and a member name may have an escaped half of a surrogate pair, which is no character:
// see JsonValue::string and IsUnicode. What a caller does not look at is checked all the same. simdjson's On-Demand
// parser does the work; what it leaves to its user (number grammar, literals, escapes of strings that nobody reads,
// duplicates) is done here.
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

// Objects and arrays inside each other, the root included.
inline constexpr int kMaxJsonDepth = 64;

// Bytes that may be read (not used) behind a text. A string with that much spare capacity is not reallocated.
inline constexpr size_t kJsonPadding = 64;

// Whether the name of a member is Unicode. A name with an escaped surrogate that lacks its other half is not: the
// reader encodes the surrogate in three bytes, as if it were a character. Such a name is not UTF-8, and differs from
// every other name of its object.
bool IsUnicode(absl::string_view name);

class JsonParse;

// One value, valid while the callback that got it runs. A container can be gone through once.
class JsonValue {
 public:
  enum class Kind { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

  using OnMember = absl::FunctionRef<absl::Status(absl::string_view name, JsonValue& value)>;
  using OnElement = absl::FunctionRef<absl::Status(size_t index, JsonValue& value)>;

  Kind kind() const { return kind_; }

  // The value of a kString in UTF-8. Nothing if it is not Unicode: an escaped surrogate without its other half. The
  // view lives as long as the document.
  const std::optional<absl::string_view>& string() const { return string_; }

  // The number as it is spelled, for a kNumber.
  absl::string_view number() const { return text_; }

  // The JSON text of the value, as it stands in the document. Goes through a container, or is called after one has been
  // gone through to its end.
  absl::StatusOr<absl::string_view> Text();

  // Calls `on_member` for each member of a kObject in turn, and ends at the first error, its own or the callback's.
  absl::Status ForEachMember(OnMember on_member);

  // Calls `on_element` for each element of a kArray in turn.
  absl::Status ForEachElement(OnElement on_element);

 private:
  friend class JsonParse;

  JsonParse* parse_ = nullptr;
  void* value_ = nullptr;  // simdjson's value, kept out of this header
  int depth_ = 0;
  bool visited_ = false;
  bool finished_ = false;  // visited to its end, and nothing behind it has been read
  Kind kind_ = Kind::kNull;
  absl::string_view text_;
  std::optional<absl::string_view> string_;
};

// Reads `text`, which must be one JSON object, and hands it to `on_root`. `text` may be given more capacity.
// Errors: kInvalidArgument with a reason and a byte offset, never with a piece of the text; and what `on_root` returns.
absl::Status ReadJsonObject(std::string& text, absl::FunctionRef<absl::Status(JsonValue& root)> on_root);

// Whether `text` is one strict JSON object.
absl::Status CheckJsonObject(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_JSON_READER_H_
