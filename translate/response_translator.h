// Translates the outcome of an HTTP exchange with upstream to the response message or the error that the caller gets.
#ifndef STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "translate/upstream_error.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// If upstream responded with HTTP 2xx and a JSON object that has the required messages of the response, fills the empty
// `response`, a message of the operation's response type, and returns OK. Otherwise returns an error of the table in
// upstream_error.h. OK does not mean success: the activity in the response may be pending, rejected or failed.
absl::Status TranslateOutcome(UpstreamOutcome outcome, const SentCall& call, google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
