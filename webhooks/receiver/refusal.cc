#include "webhooks/receiver/refusal.h"

namespace stampgate {

absl::string_view Name(HttpRefusal refusal) {
  switch (refusal) {
    case HttpRefusal::kMalformedHttp:
      return "malformed_http";
    case HttpRefusal::kUnsupportedHttp:
      return "unsupported_http";
    case HttpRefusal::kHeadTooLarge:
      return "head_too_large";
    case HttpRefusal::kNotFound:
      return "not_found";
    case HttpRefusal::kNoPath:
      return "no_path";
    case HttpRefusal::kMethodNotAllowed:
      return "method_not_allowed";
    case HttpRefusal::kTooLarge:
      return "too_large";
    case HttpRefusal::kTooSlow:
      return "too_slow";
    case HttpRefusal::kMaxBytesReached:
      return "max_bytes_reached";
    case HttpRefusal::kDraining:
      return "draining";
    case HttpRefusal::kProxyHeaderMissing:
      return "proxy_header_missing";
    case HttpRefusal::kProxyHeaderUnexpected:
      return "proxy_header_unexpected";
  }
  return "";
}

int HttpStatus(HttpRefusal refusal) {
  switch (refusal) {
    case HttpRefusal::kMalformedHttp:
      return 400;
    case HttpRefusal::kNotFound:
      return 404;
    case HttpRefusal::kMethodNotAllowed:
      return 405;
    case HttpRefusal::kTooLarge:
      return 413;
    case HttpRefusal::kUnsupportedHttp:
    case HttpRefusal::kHeadTooLarge:
    case HttpRefusal::kNoPath:
    case HttpRefusal::kTooSlow:
    case HttpRefusal::kMaxBytesReached:
    case HttpRefusal::kDraining:
    case HttpRefusal::kProxyHeaderMissing:
    case HttpRefusal::kProxyHeaderUnexpected:
      return 503;
  }
  return 503;
}

}  // namespace stampgate
