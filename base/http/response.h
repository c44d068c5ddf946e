// Builds HTTP responses that have a status and no body.
#ifndef STAMPGATE_BASE_HTTP_RESPONSE_H_
#define STAMPGATE_BASE_HTTP_RESPONSE_H_

#include <string>

namespace stampgate {

// Returns the reason phrase of a status, such as "Not Found"; an empty text for a status that our servers do not send.
const char* StatusPhrase(int http_status);

enum class AfterAnswer { kKeepAlive, kClose };

// Returns the bytes of a response without a body. A response with status 405 has the header Allow, and one with 503 has
// Retry-After. Replaces a status outside of 200 to 599 by 503, because such a status is a fault of our server, and the
// sender should repeat the request.
std::string RenderAnswer(int http_status, AfterAnswer after);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_RESPONSE_H_
