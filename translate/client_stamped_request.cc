#include "translate/client_stamped_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "translate/json/writer.h"
#include "translate/message_reader.h"
#include "translate/validator.h"
#include "translate/wire/fields.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Arena;

void Add(absl::string_view field, absl::string_view description, Violations& violations) {
  violations.Add([&] { return Violation{std::string(field), std::string(description)}; });
}

class BodyReader {
 public:
  BodyReader(const Operation& operation, Violations& violations) : operation_(operation), violations_(violations) {
    if (!operation.activity_type.empty()) AppendJsonString(operation.activity_type, type_);
  }

  // Returns the bytes of the request that `body` contains, and adds the violations of the body. May increase the
  // capacity of `body`.
  std::string Read(std::string& body) {
    absl::StatusOr<std::string> message = ReadJsonRequest(
        body, *operation_.request,
        [&](const std::string& pointer, absl::string_view text) { return TakeUnrecognized(pointer, text); },
        [&](const std::string& pointer) {
          AddToBody(absl::StrCat("must have the list or map, which may be empty: ", pointer));
        });
    if (!message.ok()) {
      AddToBody(absl::StrCat("must be the JSON text of an object: ", message.status().message()));
      return "";
    }
    if (!type_.empty() && !has_type_) AddToBody(absl::StrCat("must have the type ", operation_.activity_type));
    const FieldPlan* time = operation_.timestamp_ms;
    if (time != nullptr && !FindVarint(*message, time->field->number()).has_value()) {
      AddToBody(absl::StrCat("must have a ", time->json_name));
    }
    return *std::move(message);
  }

 private:
  // Handles a value that no field of the request can hold. The activity type of a typed submit is such a value, and is
  // allowed.
  absl::Status TakeUnrecognized(const std::string& pointer, absl::string_view text) {
    if (pointer == "/type" && text == type_) {
      has_type_ = true;
      return absl::OkStatus();
    }
    // The member generateAppProofs belongs beside "parameters". Some of upstream's client libraries write
    // generateAppProofs inside "parameters", and upstream accepts such bodies. No check of the gateway depends on this
    // member.
    if (operation_.is_submit() && pointer == "/parameters/generateAppProofs" &&
        (text == "true" || text == "false" || text == "null")) {
      return absl::OkStatus();
    }
    AddToBody(absl::StrCat("must not have a value that the request's fields cannot hold exactly: ", pointer));
    return absl::OkStatus();
  }

  void AddToBody(absl::string_view description) { Add("client_stamp.body", description, violations_); }

  const Operation& operation_;
  Violations& violations_;
  std::string type_;  // the operation's activity type, as JSON text; empty unless the operation is a typed submit
  bool has_type_ = false;
};

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
  bytes->append(BodyReader(operation, violations).Read(*read.stamp.mutable_body()));
  if (const ParsedMessage* parsed = ParseMessage(*operation.request, *bytes, arena)) {
    read.request = *parsed;
  } else {
    Add("client_stamp.body", "must be readable", violations);
  }
  return read;
}

}  // namespace stampgate
