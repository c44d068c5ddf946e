// JSON documents as trees, which tests compare, change and write.
#ifndef STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_
#define STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "translate/json/reader.h"

namespace stampgate::testing {

// One value. Equality ignores the order of members, white space and the escaping of strings; it compares numbers by
// their spelling.
struct Json {
  using Kind = JsonValue::Kind;

  Kind kind = Kind::kNull;
  std::string text;     // a number's spelling, or a string's value in UTF-8
  bool unicode = true;  // if false, `text` is the JSON text of a string that has no value in UTF-8
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

// Parses any JSON value with the program's own reader, whose strictness json/reader_test.cc proves.
absl::StatusOr<Json> ParseJson(absl::string_view text);

// Parses text that must be JSON; fails the test if it is not.
Json JsonOf(absl::string_view text);

// The text without white space, members ordered by name.
std::string ToText(const Json& json);
inline void PrintTo(const Json& json, std::ostream* out) { *out << ToText(json); }

// Sets the value at an RFC 6901 pointer: a member, new or not, of an existing object, or an existing element. Returns
// false if there is no such place.
bool SetAt(Json& root, absl::string_view pointer, Json value);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_JSON_DOM_H_
