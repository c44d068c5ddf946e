// Translates the outcome of an exchange with upstream to the caller's response message or error.
#ifndef STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "translate/upstream_error.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Fills the empty `response`, a message of the operation's response type, if upstream answered with HTTP 2xx and a JSON
// object that has the response's required messages. OK does not mean success: an activity that is pending, rejected or
// failed is OK too. Otherwise returns an error of the table in upstream_error.h.
absl::Status TranslateOutcome(UpstreamOutcome outcome, const SentCall& call, google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
