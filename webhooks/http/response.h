// An HTTP answer that says how it went and nothing else.
#ifndef STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_
#define STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_

#include <string>

namespace stampgate {

// "OK", "Not Found", ...: empty for a status that none of our servers has.
const char* StatusPhrase(int http_status);

enum class AfterAnswer { kKeepAlive, kClose };

// The bytes of an answer without a body: the same for the same arguments, always. 405 carries Allow, 503 Retry-After.
// A status outside of 200 to 599 is 503: it is our fault, and the sender is to try again.
std::string RenderAnswer(int http_status, AfterAnswer after);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_RESPONSE_H_
