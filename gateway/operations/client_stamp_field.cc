#include "gateway/operations/client_stamp_field.h"

#include <string>
#include <utility>

#include "translate/error.h"

namespace stampgate {
namespace {

absl::StatusOr<ClientStamp> Read(const char* path, ClientStamp::Kind kind, const std::string& value) {
  absl::StatusOr<ClientStamp> stamp = ClientStamp::Read(kind, value);
  if (stamp.ok()) return stamp;
  Violations violations;
  violations.Add([&] { return Violation{path, std::string(stamp.status().message())}; });
  return ViolationError(std::move(violations));
}

}  // namespace

absl::StatusOr<ClientStamp> ReadClientStamp(const v1::ClientStamp& field) {
  switch (field.stamp_case()) {
    case v1::ClientStamp::kApiKey:
      return Read("client_stamp.api_key", ClientStamp::Kind::kApiKey, field.api_key());
    case v1::ClientStamp::kWebAuthn:
      return Read("client_stamp.web_authn", ClientStamp::Kind::kWebAuthn, field.web_authn());
    case v1::ClientStamp::kAttested:
      return Read("client_stamp.attested", ClientStamp::Kind::kAttested, field.attested());
    case v1::ClientStamp::STAMP_NOT_SET:
      break;
  }
  return absl::InternalError("the rules accepted a client_stamp that contains no stamp");
}

}  // namespace stampgate
