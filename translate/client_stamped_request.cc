#include "translate/client_stamped_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "translate/json/writer.h"
#include "translate/message_reader.h"
#include "translate/validator.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void Add(absl::string_view field, absl::string_view description, Violations& violations) {
  violations.Add([&] { return Violation{std::string(field), std::string(description)}; });
}

class BodyReader {
 public:
  BodyReader(const Operation& operation, Violations& violations) : operation_(operation), violations_(violations) {
    if (!operation.activity_type.empty()) AppendJsonString(operation.activity_type, type_);
  }

  // Fills `request` from `body`, and adds the violations of the body. May increase the capacity of `body`.
  void Read(std::string& body, Message& request) {
    const absl::StatusOr<std::string> message = ReadJsonRequest(
        body, *operation_.request,
        [&](const std::string& pointer, absl::string_view text) { return TakeUnrecognized(pointer, text); },
        [&](const std::string& pointer) { AddToBody(absl::StrCat("must have the list, which may be []: ", pointer)); });
    if (!message.ok()) {
      return AddToBody(absl::StrCat("must be the JSON text of an object: ", message.status().message()));
    }
    if (!request.MergeFromString(*message)) return AddToBody("must be readable");
    if (!type_.empty() && !has_type_) AddToBody(absl::StrCat("must have the type ", operation_.activity_type));
    const FieldPlan* time = operation_.timestamp_ms;
    if (time != nullptr && !request.GetReflection()->HasField(request, time->field)) {
      AddToBody(absl::StrCat("must have a ", time->json_name));
    }
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

void CheckFields(const Operation& operation, const Message& request, const v1::ClientStamp& stamp,
                 Violations& violations) {
  CheckUnknownFields(request, "", violations);
  CheckUnknownFields(stamp, "client_stamp", violations);
  std::vector<const FieldDescriptor*> set;
  request.GetReflection()->ListFields(request, &set);
  for (const FieldDescriptor* field : set) {
    if (field == operation.request->client_stamp) continue;
    if (operation.path_segment != nullptr && field == operation.path_segment->field) continue;
    Add(field->name(), "must not be set together with client_stamp", violations);
  }
  if (stamp.stamp_case() == v1::ClientStamp::STAMP_NOT_SET) {
    Add("client_stamp", "must hold a stamp: api_key, web_authn or attested", violations);
  }
}

}  // namespace

std::optional<v1::ClientStamp> TakeClientStamp(const Operation& operation, Message& request, Violations& violations) {
  const Reflection& reflection = *request.GetReflection();
  const FieldDescriptor* field = operation.request->client_stamp;
  if (field == nullptr || !reflection.HasField(request, field)) return std::nullopt;
  v1::ClientStamp stamp;
  stamp.Swap(dynamic_cast<v1::ClientStamp*>(reflection.MutableMessage(&request, field)));
  CheckFields(operation, request, stamp, violations);

  std::string path;
  if (operation.path_segment != nullptr) path = reflection.GetString(request, operation.path_segment->field);
  request.Clear();
  if (operation.path_segment != nullptr) reflection.SetString(&request, operation.path_segment->field, std::move(path));
  BodyReader(operation, violations).Read(*stamp.mutable_body(), request);
  return stamp;
}

}  // namespace stampgate
