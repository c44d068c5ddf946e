#include "gateway/upstream/base_url.h"

#include <curl/curl.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/http/listen_address.h"

namespace stampgate {
namespace {

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

// `host` must be in libcurl's normal form, in which 0x7f.1, for example, is 127.0.0.1. "localhost" is loopback, because
// libcurl itself maps this name to an address, without a resolver.
bool IsLoopback(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return IsLoopbackIp(std::string(host));
}

}  // namespace

absl::StatusOr<std::string> ParseBaseUrl(absl::string_view text) {
  const size_t scheme_end = text.find("://");
  if (scheme_end == absl::string_view::npos) {
    return absl::InvalidArgumentError("base_url must begin with https://");
  }
  for (const char c : text.substr(scheme_end + 3)) {
    if (c == '@') return absl::InvalidArgumentError("base_url must not hold user information");
    if (c == '/' || c == '\\' || c == '?' || c == '#') {
      return absl::InvalidArgumentError("base_url must end after the host or port: no path, query or fragment");
    }
    if (!absl::ascii_isgraph(c) || c == '%') {
      return absl::InvalidArgumentError("base_url must be plain ASCII without spaces or escapes");
    }
  }
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), 0) != CURLUE_OK) {
    return absl::InvalidArgumentError("base_url is not a URL");
  }
  const std::string scheme = Part(url.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") {
    return absl::InvalidArgumentError("base_url must begin with https://");
  }
  if (Part(url.get(), CURLUPART_PORT) == "0") return absl::InvalidArgumentError("base_url must not have port 0");
  if (scheme == "http" && !IsLoopback(Part(url.get(), CURLUPART_HOST))) {
    return absl::InvalidArgumentError("base_url may be http only for a loopback host; use https");
  }
  return Part(url.get(), CURLUPART_URL);
}

ServerAddress AddressOfUrl(absl::string_view text) {
  ServerAddress server;
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), 0) != CURLUE_OK)
    return server;
  server.host = Part(url.get(), CURLUPART_HOST);
  absl::string_view host = server.host;
  if (absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]")) server.host = std::string(host);
  uint32_t port = 0;
  if (absl::SimpleAtoi(Part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT), &port)) {
    server.port = static_cast<uint16_t>(port);
  }
  return server;
}

}  // namespace stampgate
