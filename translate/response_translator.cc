#include "translate/response_translator.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "translate/answer_size.h"
#include "translate/message/reader.h"
#include "translate/wire/fields.h"

namespace stampgate {

absl::StatusOr<TranslatedResponse> TranslateOutcome(UpstreamOutcome outcome, const SentCall& call) {
  if (const auto* failure = std::get_if<TransportFailure>(&outcome)) return ErrorFromFailure(*failure, call);
  HttpAnswer& answer = std::get<HttpAnswer>(outcome);
  if (answer.status < 200 || answer.status > 299) return ErrorFromAnswer(answer, call);
  // Accepts every status 2xx and every content type, if the body can be parsed.
  const MessagePlan& plan = *call.operation.response;
  size_t size = 0;
  absl::StatusOr<std::string> response = ReadJsonMessage(answer.body, plan, kMaxAnswerBytes, size);
  if (absl::IsOutOfRange(response.status())) return TranslatedResponse{"", size, SummaryOfJson(answer.body)};
  if (!response.ok()) return ErrorFromUnreadableAnswer(response.status().message(), answer.status, call);
  for (const FieldPlan& field : plan.fields) {
    if (field.required && field.form == JsonForm::kMessage && !field.field->is_repeated() &&
        !FindBytes(*response, field.field->number()).has_value()) {
      return ErrorFromUnreadableAnswer(absl::StrCat("it has no ", field.json_name), answer.status, call);
    }
  }
  ActivitySummary activity = SummaryOf(plan, *response);
  const bool has_unrecognized =
      plan.unrecognized != nullptr && FindBytes(*response, plan.unrecognized->field->number()).has_value();
  return TranslatedResponse{*std::move(response), size, std::move(activity), has_unrecognized};
}

}  // namespace stampgate
