#include "webhooks/verification/signed_body.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "translate/json/reader.h"

namespace stampgate {
namespace {

std::string Label(const JsonValue& value) {
  if (value.kind() != JsonValue::Kind::kString || !value.string().has_value()) return "";
  if (value.string()->size() > kMaxLabelBytes) return "";
  return std::string(*value.string());
}

std::string EventType(std::string type) {
  // An activity is the whole body: "type" is the activity's own type.
  if (absl::StartsWith(type, "ACTIVITY_TYPE_")) return "ACTIVITY_UPDATES";
  if (type == "balances:confirmed") return "BALANCE_CONFIRMED_UPDATES";
  if (type == "balances:finalized") return "BALANCE_FINALIZED_UPDATES";
  if (type == "transaction:status") return "SEND_TRANSACTION_STATUS_UPDATES";
  return type;
}

}  // namespace

absl::StatusOr<SignedBody> ReadSignedBody(absl::string_view body) {
  // A copy, because the reader needs padding after the text, and growing the original could double its memory for good.
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
