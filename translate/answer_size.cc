#include "translate/answer_size.h"

#include "absl/strings/str_cat.h"
#include "translate/activity_summary.h"
#include "translate/error.h"

namespace stampgate {

absl::Status AnswerTooLarge(const SentCall& call, const google::protobuf::Message& response, size_t bytes) {
  const bool submit = call.operation.is_submit();
  Error error = GatewayError(
      absl::StatusCode::kOutOfRange, v1::ERROR_REASON_ANSWER_TOO_LARGE,
      absl::StrCat("the call was carried out, but its answer is too large: ", bytes, " bytes, where clients take ",
                   kMaxAnswerBytes, submit ? "; do not repeat it: the metadata name its activity" : "; ask for less"));
  error.metadata.emplace_back("answer_bytes", absl::StrCat(bytes));
  error.metadata.emplace_back("max_answer_bytes", absl::StrCat(kMaxAnswerBytes));
  if (submit) {
    error.metadata.emplace_back("fingerprint", call.fingerprint);
    error.metadata.emplace_back("timestamp_ms", absl::StrCat(call.timestamp_ms));
    const ActivitySummary activity = SummaryOf(*call.operation.response, response);
    if (!activity.id.empty()) error.metadata.emplace_back("activity_id", activity.id);
    if (!activity.status.empty()) error.metadata.emplace_back("activity_status", activity.status);
  }
  return ToStatus(error);
}

}  // namespace stampgate
