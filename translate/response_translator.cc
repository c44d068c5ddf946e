#include "translate/response_translator.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "translate/message_reader.h"

namespace stampgate {

absl::Status TranslateOutcome(UpstreamOutcome outcome, const SentCall& call, google::protobuf::Message& response) {
  if (const auto* failure = std::get_if<TransportFailure>(&outcome)) return ErrorFromFailure(*failure, call);
  HttpAnswer& answer = std::get<HttpAnswer>(outcome);
  if (answer.status != 200) return ErrorFromAnswer(answer, call);
  // The content type is not asked for: what decides is whether the body can be read.
  const MessagePlan& plan = *call.operation.response;
  if (absl::Status status = ReadJsonMessage(answer.body, plan, response); !status.ok()) {
    response.Clear();
    return ErrorFromUnreadableAnswer(status.message(), call);
  }
  for (const FieldPlan& field : plan.fields) {
    if (field.required && field.form == JsonForm::kMessage && !field.field->is_repeated() &&
        !response.GetReflection()->HasField(response, field.field)) {
      response.Clear();
      return ErrorFromUnreadableAnswer(absl::StrCat("it has no ", field.json_name), call);
    }
  }
  return absl::OkStatus();
}

}  // namespace stampgate
