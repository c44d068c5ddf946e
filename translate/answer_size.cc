#include "translate/answer_size.h"

#include "absl/strings/str_cat.h"
#include "translate/error.h"

namespace stampgate {

namespace {

Error TooLarge(absl::string_view done, size_t bytes, absl::string_view advice) {
  Error error = GatewayError(absl::StatusCode::kOutOfRange, v1::ERROR_REASON_ANSWER_TOO_LARGE,
                             absl::StrCat(done, ", but the response is too large: ", bytes,
                                          " bytes, but clients accept ", kMaxAnswerBytes, "; ", advice));
  error.metadata.emplace_back("answer_bytes", absl::StrCat(bytes));
  error.metadata.emplace_back("max_answer_bytes", absl::StrCat(kMaxAnswerBytes));
  return error;
}

}  // namespace

absl::Status AnswerTooLarge(const SentCall& call, const ActivitySummary& activity, size_t bytes) {
  const bool submit = call.operation.is_submit();
  Error error = TooLarge("the call was carried out", bytes,
                         submit ? "do not repeat the call: the metadata identify its activity" : "request less data");
  if (submit) {
    error.metadata.emplace_back("fingerprint", call.fingerprint);
    error.metadata.emplace_back("timestamp_ms", absl::StrCat(call.timestamp_ms));
    if (!activity.id.empty()) error.metadata.emplace_back("activity_id", activity.id);
    if (!activity.status.empty()) error.metadata.emplace_back("activity_status", activity.status);
  }
  return ToStatus(error);
}

absl::Status PreparedTooLarge(size_t bytes) {
  return ToStatus(TooLarge("the body was prepared", bytes, "prepare a smaller request"));
}

}  // namespace stampgate
