// JSON documents as trees, which tests can compare, change and convert to text.
#ifndef STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_
#define STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/json/reader.h"

namespace stampgate::testing {

// A JSON value. Two values are equal even if the order of members, the white space or the escapes differ. Numbers are
// equal only if they have the same spelling.
struct Json {
  using Kind = JsonValue::Kind;

  Kind kind = Kind::kNull;
  std::string text;     // a number's spelling, or a string's value in UTF-8
  bool unicode = true;  // if false, the value is a string that is not valid Unicode, and `text` is its JSON text
  std::map<std::string, Json> members;
  std::vector<Json> elements;

  static Json Null() { return {}; }
  static Json Bool(bool value) { return {value ? Kind::kTrue : Kind::kFalse, {}, true, {}, {}}; }
  static Json Number(std::string spelling) { return {Kind::kNumber, std::move(spelling), true, {}, {}}; }
  static Json String(std::string value) { return {Kind::kString, std::move(value), true, {}, {}}; }
  static Json Object() { return {Kind::kObject, {}, true, {}, {}}; }
  static Json Array() { return {Kind::kArray, {}, true, {}, {}}; }
};

bool operator==(const Json& a, const Json& b);

// Parses any JSON value with the program's own reader. base/json/reader_test.cc tests that this reader is strict.
absl::StatusOr<Json> ParseJson(absl::string_view text);

// Returns the JSON value that `text` contains; fails the test if `text` is not JSON.
Json JsonOf(absl::string_view text);

// Returns the JSON text of `json`, without white space and with the members ordered by name.
std::string ToText(const Json& json);
inline void PrintTo(const Json& json, std::ostream* out) { *out << ToText(json); }

// Sets the value at the JSON Pointer (RFC 6901) `pointer`. Returns false unless `pointer` names an existing element of
// a list, or a new or existing member of an existing object.
bool SetAt(Json& root, absl::string_view pointer, Json value);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_
