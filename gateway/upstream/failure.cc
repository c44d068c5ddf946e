#include "gateway/upstream/failure.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

Cause CauseOf(CURLcode code, const ExchangeProgress& progress) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
    case CURLE_NO_CONNECTION_AVAILABLE:
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
    case CURLE_OPERATION_TIMEDOUT:
      return progress.connected ? Cause::kTimeout : Cause::kUnreachable;
    case CURLE_FILESIZE_EXCEEDED:
      return Cause::kTooLarge;
    case CURLE_WRITE_ERROR:
      return progress.too_large ? Cause::kTooLarge : Cause::kBroken;
    // These codes are listed to show that they are known. The first two mean that libcurl tried to repeat a request.
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    default:
      return Cause::kBroken;
  }
}

}  // namespace

TransportFailure DescribeFailure(CURLcode code, const ExchangeProgress& progress, absl::string_view message) {
  TransportFailure failure;
  failure.body_sent = progress.body_sent || code == CURLE_SEND_FAIL_REWIND;
  failure.cause = CauseOf(code, progress);
  const bool before_request = failure.cause == Cause::kUnreachable || failure.cause == Cause::kTls;
  // libcurl tried to connect again after the first connection broke.
  if (before_request && failure.body_sent) failure.cause = Cause::kBroken;
  failure.detail = curl_easy_strerror(code);
  if (failure.body_sent && (before_request || code == CURLE_ABORTED_BY_CALLBACK)) {
    failure.detail = "The connection ended without an answer, and the request is not repeated";
  } else if (before_request && !message.empty()) {
    // A message about a response could repeat secrets from the response. This message can contain names that upstream
    // has chosen, such as the host in a certificate. So the detail contains only the beginning of the message, without
    // unprintable characters.
    absl::StrAppend(&failure.detail, ": ", message.substr(0, 200));
    for (char& c : failure.detail) {
      if (!absl::ascii_isprint(c)) c = '?';
    }
  }
  return failure;
}

}  // namespace stampgate
