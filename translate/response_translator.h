// Translates the outcome of an HTTP exchange with upstream to the response message or the error that the caller gets.
#ifndef STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "translate/upstream_error.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// If upstream responded with HTTP 2xx and a JSON object that has the required messages of the response, returns the
// bytes of a message of the operation's response type. Otherwise returns an error of the table in upstream_error.h. A
// message does not mean success: the activity in the response may be pending, rejected or failed.
absl::StatusOr<std::string> TranslateOutcome(UpstreamOutcome outcome, const SentCall& call);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_RESPONSE_TRANSLATOR_H_
