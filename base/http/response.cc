#include "base/http/response.h"

#include "absl/strings/str_cat.h"

namespace stampgate {

const char* StatusPhrase(int http_status) {
  switch (http_status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

std::string RenderAnswer(int http_status, AfterAnswer after) {
  if (http_status < 200 || http_status > 599) http_status = 503;
  std::string answer =
      absl::StrCat("HTTP/1.1 ", http_status, " ", StatusPhrase(http_status), "\r\nContent-Length: 0\r\n");
  if (http_status == 405) absl::StrAppend(&answer, "Allow: POST\r\n");
  if (http_status == 503) absl::StrAppend(&answer, "Retry-After: 5\r\n");
  // Always sent, because HTTP/1.0 and HTTP/1.1 have different defaults.
  absl::StrAppend(&answer, "Connection: ", after == AfterAnswer::kClose ? "close" : "keep-alive", "\r\n\r\n");
  return answer;
}

}  // namespace stampgate
