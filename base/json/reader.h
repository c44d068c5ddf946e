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
// Accepts exactly the texts of RFC 8259 in UTF-8 that consist of one object, have no member name twice in one object,
// and are nested at most kMaxJsonDepth deep. The reader also checks the values that the callback does not visit. A
// string or member name may contain an escaped half of a surrogate pair, which is not a character: see
// JsonValue::string and IsUnicode.
//
// While it reads, the reader holds up to ten times the bytes of the text, most of it for a parser that is built for
// texts of any form: about six times for the index of the parser, and the rest for unescaped strings and for the names
// of the members of open objects. Each thread keeps a parser of at most 1.5 MiB for the next text.
//
// The parser is simdjson's On-Demand API. This API does not check the grammar of numbers and literals, the escapes of
// strings that are not read, or whether names are duplicate. This reader checks all of these.
#ifndef STAMPGATE_BASE_JSON_READER_H_
#define STAMPGATE_BASE_JSON_READER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The maximum number of objects and arrays inside each other, including the root.
inline constexpr int kMaxJsonDepth = 64;

// The number of bytes after a text that simdjson may read (and ignore). A string with so much spare capacity is not
// reallocated by ReadJsonObject.
inline constexpr size_t kJsonPadding = 64;

// Returns true if the member name `name`, as the reader returns it, is valid Unicode. A name in which an escaped
// surrogate lacks its other half is not valid Unicode. The reader encodes such a surrogate in three bytes, as if it
// were a character. The encoded name is not UTF-8, and the encoding never makes two different names equal.
bool IsUnicode(absl::string_view name);

class JsonParse;

// One JSON value. It is valid only during the callback that received it. An object or array can be visited only once.
class JsonValue {
 public:
  enum class Kind { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

  using OnMember = absl::FunctionRef<absl::Status(absl::string_view name, JsonValue& value)>;
  using OnElement = absl::FunctionRef<absl::Status(size_t index, JsonValue& value)>;

  Kind kind() const { return kind_; }

  // The value of a kString in UTF-8, or nothing if the string is not valid Unicode, because an escaped surrogate lacks
  // its other half. The view is valid until ReadJsonObject returns.
  const std::optional<absl::string_view>& string() const { return string_; }

  // The text of a kNumber, in its original spelling.
  absl::string_view number() const { return text_; }

  // Returns the JSON text of the value. For an object or array, call Text() either before a visit or after a complete
  // visit. A call before a visit counts as the one visit.
  absl::StatusOr<absl::string_view> Text();

  // Visits a kObject: calls `on_member` for each member, in order. Returns the first error of the JSON or of
  // `on_member`, without visiting further members.
  absl::Status ForEachMember(OnMember on_member);

  // Visits a kArray: calls `on_element` for each element, in order. Returns the first error of the JSON or of
  // `on_element`, without visiting further elements.
  absl::Status ForEachElement(OnElement on_element);

 private:
  friend class JsonParse;

  JsonParse* parse_ = nullptr;
  void* value_ = nullptr;  // simdjson's value; the pointer is void so that this header need not include simdjson
  int depth_ = 0;
  bool visited_ = false;
  bool finished_ = false;  // the visit is complete, and the parser has not moved past the value
  Kind kind_ = Kind::kNull;
  absl::string_view text_;
  std::optional<absl::string_view> string_;
};

// Reads `text`, which must be one JSON object, and passes the object to `on_root`. May increase the capacity of `text`.
// Thread-safe. Waits while another thread reads a text, if both have more than 256 KiB.
// Errors: kInvalidArgument, with a message that states the reason and usually the byte offset, and never quotes the
// text; the error that `on_root` returns.
absl::Status ReadJsonObject(std::string& text, absl::FunctionRef<absl::Status(JsonValue& root)> on_root);

// Returns OK if `text` is one strict JSON object; otherwise the error that ReadJsonObject would return.
absl::Status CheckJsonObject(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_JSON_READER_H_
