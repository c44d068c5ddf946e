// An HTTP response that consists of a status and no body.
#ifndef STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_
#define STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_

#include <string>

namespace stampgate {

// "OK", "Not Found", ...; empty for a status that our servers do not send.
const char* StatusPhrase(int http_status);

enum class AfterAnswer { kKeepAlive, kClose };

// The bytes of a response without a body; they depend only on the arguments. 405 carries Allow, 503 carries
// Retry-After. A status outside of 200 to 599 becomes 503: it is our fault, and the sender should try again.
std::string RenderAnswer(int http_status, AfterAnswer after);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_
