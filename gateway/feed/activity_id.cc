#include "gateway/feed/activity_id.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "stampgate/v1/options.pb.h"
#include "translate/wire/fields.h"
#include "webhooks/verification/signed_body.h"

namespace stampgate {
namespace {

// Returns the field of the role in `message`, or null.
const FieldPlan* FieldIn(const MessagePlan& message) {
  const auto found =
      absl::c_find_if(message.fields, [](const FieldPlan& field) { return field.role == v1::FIELD_ROLE_ACTIVITY_ID; });
  return found == message.fields.end() ? nullptr : &*found;
}

std::string IdOf(absl::string_view text) { return text.size() > kMaxLabelBytes ? "" : std::string(text); }

}  // namespace

absl::StatusOr<ActivityIdPlace> ActivityIdPlace::Find(const MessagePlan& body) {
  ActivityIdPlace place;
  place.id_ = FieldIn(body);
  if (place.id_ != nullptr) return place;
  for (const FieldPlan& field : body.fields) {
    if (field.form != JsonForm::kMessage || field.is_list) continue;
    const FieldPlan* id = FieldIn(*field.message);
    if (id == nullptr) continue;
    if (place.id_ != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("the messages inside ", body.descriptor->full_name(), " have two ids of an activity"));
    }
    place.outer_ = &field;
    place.id_ = id;
  }
  return place;
}

std::string ActivityIdPlace::IdIn(absl::string_view decoded) const {
  if (id_ == nullptr) return "";
  if (outer_ != nullptr) decoded = FindBytes(decoded, outer_->field->number()).value_or("");
  return IdOf(FindBytes(decoded, id_->field->number()).value_or(""));
}

std::string ActivityIdPlace::IdInJson(std::string& json) const {
  std::string id;
  if (id_ == nullptr) return id;
  const auto read_id = [&](absl::string_view name, JsonValue& value) {
    if (name == id_->json_name && value.kind() == JsonValue::Kind::kString) id = IdOf(value.string().value_or(""));
    return absl::OkStatus();
  };
  const absl::Status read = ReadJsonObject(json, [&](JsonValue& root) {
    if (outer_ == nullptr) return root.ForEachMember(read_id);
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      const bool is_outer = name == outer_->json_name && value.kind() == JsonValue::Kind::kObject;
      return is_outer ? value.ForEachMember(read_id) : absl::OkStatus();
    });
  });
  return read.ok() ? id : "";
}

}  // namespace stampgate
