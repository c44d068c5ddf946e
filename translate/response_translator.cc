#include "translate/response_translator.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "translate/message/reader.h"
#include "translate/wire/fields.h"

namespace stampgate {

absl::StatusOr<std::string> TranslateOutcome(UpstreamOutcome outcome, const SentCall& call) {
  if (const auto* failure = std::get_if<TransportFailure>(&outcome)) return ErrorFromFailure(*failure, call);
  HttpAnswer& answer = std::get<HttpAnswer>(outcome);
  if (answer.status < 200 || answer.status > 299) return ErrorFromAnswer(answer, call);
  // Accepts every status 2xx and every content type, if the body can be parsed.
  const MessagePlan& plan = *call.operation.response;
  absl::StatusOr<std::string> response = ReadJsonMessage(answer.body, plan);
  if (!response.ok()) return ErrorFromUnreadableAnswer(response.status().message(), answer.status, call);
  for (const FieldPlan& field : plan.fields) {
    if (field.required && field.form == JsonForm::kMessage && !field.field->is_repeated() &&
        !FindBytes(*response, field.field->number()).has_value()) {
      return ErrorFromUnreadableAnswer(absl::StrCat("it has no ", field.json_name), answer.status, call);
    }
  }
  return response;
}

}  // namespace stampgate
