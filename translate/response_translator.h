// Translates the outcome of an HTTP exchange with upstream to the response message or the error that the caller gets.
#ifndef STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "translate/activity_summary.h"
#include "translate/upstream_error.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// The response to a call.
struct TranslatedResponse {
  // The bytes of a message of the operation's response type. Empty if the message is larger than kMaxAnswerBytes: then
  // the caller gets AnswerTooLarge, and the gateway has never held the whole message.
  std::string bytes;
  size_t size = 0;                // of the message
  ActivitySummary activity;       // in the message
  bool has_unrecognized = false;  // whether upstream sent a value that no field of the message can hold
};

// If upstream responded with HTTP 2xx and a JSON object that has the required messages of the response, returns the
// response. Otherwise returns an error of the table in upstream_error.h. A response does not mean success: its activity
// may be pending, rejected or failed.
absl::StatusOr<TranslatedResponse> TranslateOutcome(UpstreamOutcome outcome, const SentCall& call);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
