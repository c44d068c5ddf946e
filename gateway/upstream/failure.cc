#include "gateway/upstream/failure.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

Cause CauseOf(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
    case CURLE_NO_CONNECTION_AVAILABLE:
    case CURLE_OPERATION_TIMEDOUT:
      return Cause::kUnreachable;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED:
      return Cause::kTls;
    default:
      return Cause::kBroken;
  }
}

}  // namespace

TransportFailure ConnectFailure(CURLcode code, absl::string_view message) {
  TransportFailure failure;
  failure.cause = CauseOf(code);
  failure.detail = curl_easy_strerror(code);
  if (failure.cause == Cause::kBroken || message.empty()) return failure;
  // The message can contain names that upstream has chosen, such as the host in a certificate. So the detail contains
  // only the beginning of the message, without unprintable characters.
  absl::StrAppend(&failure.detail, ": ", message.substr(0, 200));
  for (char& c : failure.detail) {
    if (!absl::ascii_isprint(c)) c = '?';
  }
  return failure;
}

}  // namespace stampgate
