#include "translate/client_stamped_request.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "translate/request_body.h"
#include "translate/validator.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Arena;

void Add(absl::string_view field, absl::string_view description, Violations& violations) {
  violations.Add([&] { return Violation{std::string(field), std::string(description)}; });
}

void CheckFields(const Operation& operation, const ParsedMessage& request, const v1::ClientStamp& stamp,
                 Violations& violations) {
  CheckUnknownFields(request, violations);
  const auto& unknown = stamp.GetReflection()->GetUnknownFields(stamp);
  for (int i = 0; i < unknown.field_count(); ++i) {
    Add("client_stamp",
        absl::StrCat("holds field number ", unknown.field(i).number(), ", which this gateway does not know"),
        violations);
  }
  for (const FieldPlan& field : operation.request->fields) {
    if (&field == operation.request->client_stamp || &field == operation.path_segment || !request.Has(field)) continue;
    Add(field.field->name(), "must not be set together with client_stamp", violations);
  }
  if (stamp.stamp_case() == v1::ClientStamp::STAMP_NOT_SET) {
    Add("client_stamp", "must hold a stamp: api_key, web_authn or attested", violations);
  }
}

}  // namespace

std::optional<ClientStampedRequest> ReadClientStampedRequest(const Operation& operation, const ParsedMessage& request,
                                                             Arena& arena, Violations& violations) {
  const FieldPlan* field = operation.request->client_stamp;
  if (field == nullptr || !request.Has(*field)) return std::nullopt;
  ClientStampedRequest read{{}, request};
  for (const FieldValue& part : request.Values(*field)) {
    const absl::string_view bytes = part.text();
    if (!read.stamp.MergeFromString({bytes.data(), bytes.size()})) {
      Add("client_stamp", "must be a ClientStamp message", violations);
      return read;
    }
  }
  CheckFields(operation, request, read.stamp, violations);

  auto* const bytes = Arena::Create<std::string>(&arena);
  if (const FieldPlan* path = operation.path_segment) {
    WireWriter writer;
    writer.String(path->field->number(), request.Text(*path));
    *bytes = writer.Take();
  }
  bytes->append(ReadRequestBody(operation, *read.stamp.mutable_body(), "client_stamp.body", violations));
  if (const ParsedMessage* parsed = ParseMessage(*operation.request, *bytes, arena)) {
    read.request = *parsed;
  } else {
    Add("client_stamp.body", "must be readable", violations);
  }
  return read;
}

}  // namespace stampgate
