#include "gateway/upstream/request_heads.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

constexpr char kTraceparent[] = "traceparent";
constexpr char kAccept[] = "Accept: application/json\r\n";

bool IsTarget(absl::string_view path) {
  return !path.empty() && path[0] == '/' &&
         absl::c_all_of(path, [](char c) { return absl::ascii_isgraph(c) && c != '#'; });
}

bool IsHeader(absl::string_view name, absl::string_view value) {
  return !name.empty() && absl::c_all_of(name, [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; }) &&
         absl::c_all_of(value, absl::ascii_isprint) && absl::c_any_of(value, absl::ascii_isgraph);
}

// Returns the line of the header `traceparent`; an empty text if there is no value, and nothing if it is not valid.
std::optional<std::string> TraceLine(absl::string_view value) {
  if (value.empty()) return "";
  if (!IsHeader(kTraceparent, value)) return std::nullopt;
  return absl::StrCat(kTraceparent, ": ", value, "\r\n");
}

// Returns the value of the Host header: without the port if it is the scheme's own.
absl::string_view HostOf(absl::string_view base_url) {
  absl::string_view port = ":80";
  if (absl::ConsumePrefix(&base_url, "https://")) {
    port = ":443";
  } else {
    absl::ConsumePrefix(&base_url, "http://");
  }
  absl::ConsumeSuffix(&base_url, "/");
  absl::ConsumeSuffix(&base_url, port);
  return base_url;
}

}  // namespace

RequestHeads::RequestHeads(absl::string_view base_url)
    : fixed_(absl::StrCat(" HTTP/1.1\r\nHost: ", HostOf(base_url), "\r\nUser-Agent: stampgate\r\n")) {}

std::optional<std::string> RequestHeads::PostHead(const StampedRequest& request, absl::string_view traceparent) const {
  if (!IsTarget(request.path()) || !IsHeader(request.header_name(), request.header_value())) return std::nullopt;
  const std::optional<std::string> trace = TraceLine(traceparent);
  if (!trace.has_value()) return std::nullopt;
  return absl::StrCat("POST ", request.path(), fixed_, request.header_name(), ": ", request.header_value(), "\r\n",
                      *trace, "Content-Type: application/json\r\n", kAccept, "Content-Length: ", request.body().size(),
                      "\r\n\r\n");
}

std::optional<std::string> RequestHeads::GetHead(const DiscoveryRequest& request, absl::string_view traceparent) const {
  if (!IsTarget(request.path)) return std::nullopt;
  const std::optional<std::string> trace = TraceLine(traceparent);
  if (!trace.has_value()) return std::nullopt;
  return absl::StrCat("GET ", request.path, fixed_, *trace, kAccept, "\r\n");
}

}  // namespace stampgate
