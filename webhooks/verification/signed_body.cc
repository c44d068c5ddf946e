#include "webhooks/verification/signed_body.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

std::string Label(const JsonValue& value) {
  if (value.kind() != JsonValue::Kind::kString || !value.string().has_value()) return "";
  if (value.string()->size() > kMaxLabelBytes) return "";
  return std::string(*value.string());
}

std::string EventType(std::string type) {
  // For an activity, the body is the activity itself, and "type" is its activity type.
  if (absl::StartsWith(type, "ACTIVITY_TYPE_")) return "ACTIVITY_UPDATES";
  if (type == "balances:confirmed") return "BALANCE_CONFIRMED_UPDATES";
  if (type == "balances:finalized") return "BALANCE_FINALIZED_UPDATES";
  if (type == "transaction:status") return "SEND_TRANSACTION_STATUS_UPDATES";
  return type;
}

}  // namespace

absl::StatusOr<SignedBody> ReadSignedBody(absl::string_view body) {
  // Reads a copy, because the reader needs padding after the text. Appending the padding to the body could double the
  // memory that the body occupies.
  std::string text;
  text.reserve(body.size() + kJsonPadding);
  text.append(body.data(), body.size());
  SignedBody read;
  absl::Status status = ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      if (name == "organizationId") {
        read.organization_id = Label(value);
      } else if (name == "parentOrganizationId") {
        read.parent_organization_id = Label(value);
      } else if (name == "type") {
        read.event_type = EventType(Label(value));
      }
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return status;
  return read;
}

}  // namespace stampgate
