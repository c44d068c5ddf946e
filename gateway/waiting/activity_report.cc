#include "gateway/waiting/activity_report.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

using Kind = JsonValue::Kind;

// Whether the value is an object with a member. An activity without a result has none, null or {}.
absl::StatusOr<bool> HasMember(JsonValue& value) {
  bool found = false;
  if (value.kind() != Kind::kObject) return found;
  const absl::Status read = value.ForEachMember([&](absl::string_view, JsonValue& member) {
    found = found || member.kind() != Kind::kNull;
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return found;
}

absl::Status ReadMember(absl::string_view name, JsonValue& value, ActivityReport& report) {
  if (name == "result") {
    const absl::StatusOr<bool> has_result = HasMember(value);
    if (has_result.ok()) report.has_result = *has_result;
    return has_result.status();
  }
  std::string* const member = name == "organizationId" ? &report.activity.first
                              : name == "id"           ? &report.activity.second
                              : name == "status"       ? &report.status
                                                       : nullptr;
  if (member != nullptr && value.kind() == Kind::kString && value.string().has_value()) {
    *member = std::string(*value.string());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ActivityReport> ReadActivityAnswer(std::string text) {
  ActivityReport report;
  const absl::Status read = ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      if (name != "activity" || value.kind() != Kind::kObject) return absl::OkStatus();
      return value.ForEachMember(
          [&](absl::string_view inner, JsonValue& member) { return ReadMember(inner, member, report); });
    });
  });
  if (!read.ok()) return read;
  if (report.activity.first.empty() || report.activity.second.empty() || report.status.empty()) {
    return absl::InvalidArgumentError("the JSON has no activity with an organizationId, an id and a status");
  }
  report.text = std::make_shared<const std::string>(std::move(text));
  return report;
}

absl::StatusOr<ActivityReport> ReadActivityEvent(absl::string_view body) {
  std::string text;
  text.reserve(body.size() + 2 * kJsonPadding);
  absl::StrAppend(&text, R"({"activity":)", body, "}");
  return ReadActivityAnswer(std::move(text));
}

}  // namespace stampgate
