#include "translate/response_translator.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "translate/message_reader.h"

namespace stampgate {

absl::Status TranslateOutcome(UpstreamOutcome outcome, const SentCall& call, google::protobuf::Message& response) {
  if (const auto* failure = std::get_if<TransportFailure>(&outcome)) return ErrorFromFailure(*failure, call);
  HttpAnswer& answer = std::get<HttpAnswer>(outcome);
  if (answer.status < 200 || answer.status > 299) return ErrorFromAnswer(answer, call);
  // Accepts every status 2xx and every content type, if the body can be parsed.
  const MessagePlan& plan = *call.operation.response;
  if (absl::Status status = ReadJsonMessage(answer.body, plan, response); !status.ok()) {
    response.Clear();
    return ErrorFromUnreadableAnswer(status.message(), answer.status, call);
  }
  for (const FieldPlan& field : plan.fields) {
    if (field.required && field.form == JsonForm::kMessage && !field.field->is_repeated() &&
        !response.GetReflection()->HasField(response, field.field)) {
      response.Clear();
      return ErrorFromUnreadableAnswer(absl::StrCat("it has no ", field.json_name), answer.status, call);
    }
  }
  return absl::OkStatus();
}

}  // namespace stampgate
