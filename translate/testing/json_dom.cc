#include "translate/testing/json_dom.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/json/writer.h"

namespace stampgate::testing {
namespace {

absl::Status Read(JsonValue& value, Json& json) {
  json.kind = value.kind();
  switch (value.kind()) {
    case Json::Kind::kNull:
    case Json::Kind::kTrue:
    case Json::Kind::kFalse:
      return absl::OkStatus();
    case Json::Kind::kNumber:
      json.text = std::string(value.number());
      return absl::OkStatus();
    case Json::Kind::kString:
      json.unicode = value.string().has_value();
      json.text = std::string(json.unicode ? *value.string() : *value.Text());
      return absl::OkStatus();
    case Json::Kind::kObject:
      return value.ForEachMember(
          [&](absl::string_view name, JsonValue& member) { return Read(member, json.members[std::string(name)]); });
    case Json::Kind::kArray:
      return value.ForEachElement(
          [&](size_t, JsonValue& element) { return Read(element, json.elements.emplace_back()); });
  }
  return absl::InternalError("unknown kind");
}

// Appends a member name as JSON. The reader encodes a surrogate that lacks its other half in three bytes; this function
// writes such a surrogate as an escape.
void AppendName(const std::string& name, std::string& out) {
  std::string quoted;
  AppendJsonString(name, quoted);
  for (size_t i = 0; i < quoted.size(); ++i) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(quoted[i + k]); };
    if (byte(0) == 0xed && byte(1) >= 0xa0) {
      absl::StrAppend(&out, "\\u", absl::Hex(0xd000 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f)));
      i += 2;
    } else {
      out.push_back(quoted[i]);
    }
  }
}

void Append(const Json& json, std::string& out) {
  absl::string_view separator = "";
  switch (json.kind) {
    case Json::Kind::kNull:
      out += "null";
      break;
    case Json::Kind::kTrue:
      out += "true";
      break;
    case Json::Kind::kFalse:
      out += "false";
      break;
    case Json::Kind::kNumber:
      out += json.text;
      break;
    case Json::Kind::kString:
      if (json.unicode) {
        AppendJsonString(json.text, out);
      } else {
        out += json.text;
      }
      break;
    case Json::Kind::kObject:
      out += '{';
      for (const auto& [name, member] : json.members) {
        absl::StrAppend(&out, std::exchange(separator, ","));
        AppendName(name, out);
        out += ':';
        Append(member, out);
      }
      out += '}';
      break;
    case Json::Kind::kArray:
      out += '[';
      for (const Json& element : json.elements) {
        absl::StrAppend(&out, std::exchange(separator, ","));
        Append(element, out);
      }
      out += ']';
      break;
  }
}

}  // namespace

bool operator==(const Json& a, const Json& b) {
  return a.kind == b.kind && a.text == b.text && a.unicode == b.unicode && a.members == b.members &&
         a.elements == b.elements;
}

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  std::string document = absl::StrCat("{\"value\":", text, "}");
  Json json;
  absl::Status status = ReadJsonObject(document, [&](JsonValue& root) { return Read(root, json); });
  if (!status.ok()) return status;
  if (json.members.size() != 1) return absl::InvalidArgumentError("the text is not exactly one JSON value");
  return std::move(json.members["value"]);
}

Json JsonOf(absl::string_view text) {
  absl::StatusOr<Json> json = ParseJson(text);
  if (json.ok()) return *std::move(json);
  ADD_FAILURE() << json.status() << ": " << text;
  return Json::Null();
}

std::string ToText(const Json& json) {
  std::string text;
  Append(json, text);
  return text;
}

bool SetAt(Json& root, absl::string_view pointer, Json value) {
  if (pointer.empty()) {
    root = std::move(value);
    return true;
  }
  if (pointer.front() != '/') return false;
  std::vector<std::string> steps = absl::StrSplit(pointer.substr(1), '/');
  Json* place = &root;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string step = absl::StrReplaceAll(steps[i], {{"~1", "/"}, {"~0", "~"}});
    if (place->kind == Json::Kind::kArray) {
      size_t index;
      if (!absl::SimpleAtoi(step, &index) || index >= place->elements.size()) return false;
      place = &place->elements[index];
    } else if (place->kind == Json::Kind::kObject) {
      if (i + 1 < steps.size() && place->members.find(step) == place->members.end()) return false;
      place = &place->members[step];
    } else {
      return false;
    }
  }
  *place = std::move(value);
  return true;
}

}  // namespace stampgate::testing
