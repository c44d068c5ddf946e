#include "translate/request_body.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json/writer.h"
#include "translate/message/reader.h"
#include "translate/wire/fields.h"

namespace stampgate {
namespace {

class BodyReader {
 public:
  BodyReader(const Operation& operation, absl::string_view place, RequestMemory& memory, Violations& violations)
      : operation_(operation), place_(place), memory_(memory), violations_(violations) {
    if (!operation.activity_type.empty()) AppendJsonString(operation.activity_type, type_);
  }

  const ParsedMessage* Read(std::string& body, absl::string_view before) {
    const absl::StatusOr<std::string> message = ReadJsonRequest(
        body, *operation_.request, memory_.Left(),
        [&](const std::string& pointer, absl::string_view text) { return TakeUnrecognized(pointer, text); },
        [&](const std::string& pointer) {
          Add(absl::StrCat("must have the list, map or text, which may be empty: ", pointer));
        });
    if (absl::IsOutOfRange(message.status())) {
      Add(memory_.Exceeded().message());
      return nullptr;
    }
    if (!message.ok()) {
      Add(absl::StrCat("must be the JSON text of an object: ", message.status().message()));
      return nullptr;
    }
    if (!type_.empty() && !has_type_) Add(absl::StrCat("must have the type ", operation_.activity_type));
    const FieldPlan* time = operation_.timestamp_ms;
    if (time != nullptr && !FindVarint(*message, time->field->number()).has_value()) {
      Add(absl::StrCat("must have a ", time->json_name));
    }
    const absl::StatusOr<absl::string_view> kept = memory_.Keep(before, *message);
    const absl::StatusOr<const ParsedMessage*> parsed =
        kept.ok() ? ParseMessage(*operation_.request, *kept, memory_) : kept.status();
    // Most requests have one form.
    if (parsed.ok() && operation_.name_days.size() > 1) CheckNames(**parsed);
    if (parsed.ok()) return *parsed;
    Add(parsed.status().message());
    return nullptr;
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
    // A pointer can contain long names of the caller.
    constexpr size_t kMaxPointerBytes = 256;
    Add(absl::StrCat("must not have a value that the request's fields cannot hold exactly: ",
                     absl::string_view(pointer).substr(0, kMaxPointerBytes)));
    return absl::OkStatus();
  }

  // Upstream might ignore a name that it does not know, and would then carry out a request without a value that the
  // guards have checked. The recursion is bounded, because JSON is at most kMaxJsonDepth deep.
  void CheckNames(const ParsedMessage& message) {
    for (const FieldPlan& field : message.plan().fields) {
      const absl::Span<const FieldValue> values = message.Values(field);
      if (values.empty()) continue;
      const FieldPlan& expected = NamedOn(field, operation_.names_as_of);
      if (&message.NameOf(field) != &expected) {
        Add(absl::StrCat("must have the member ", message.NameOf(field).json_name, " under the name ",
                         expected.json_name, ", which upstream receives"));
      }
      if (field.form != JsonForm::kMessage) continue;
      for (const FieldValue& value : values) CheckNames(value.message());
    }
  }

  void Add(absl::string_view description) {
    violations_.Add([&] { return Violation{std::string(place_), std::string(description)}; });
  }

  const Operation& operation_;
  const absl::string_view place_;
  RequestMemory& memory_;
  Violations& violations_;
  std::string type_;  // the operation's activity type, as JSON text; empty unless the operation is a typed submit
  bool has_type_ = false;
};

}  // namespace

const ParsedMessage* ReadRequestBody(const Operation& operation, std::string& body, absl::string_view before,
                                     absl::string_view place, RequestMemory& memory, Violations& violations) {
  return BodyReader(operation, place, memory, violations).Read(body, before);
}

}  // namespace stampgate
