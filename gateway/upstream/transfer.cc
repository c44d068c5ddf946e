#include "gateway/upstream/transfer.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gateway/upstream/failure.h"
#include "translate/json/reader.h"

namespace stampgate {
namespace {

constexpr absl::Duration kMaxRetryAfter = absl::Hours(1);

// The maximum age of a connection. A new connection uses upstream's current address, which can have changed.
constexpr long kMaxConnectionSeconds = 300;

// The headers of every request, in libcurl's list format. With the line "Expect:", libcurl sends no Expect header. With
// such a header, libcurl would wait for upstream's permission before it sends a large body.
char kAcceptLine[] = "Accept: application/json";
char kContentTypeLine[] = "Content-Type: application/json";
char kNoExpectLine[] = "Expect:";
constexpr char kTraceparent[] = "traceparent";
curl_slist kAccept = {kAcceptLine, nullptr};
curl_slist kNoExpect = {kNoExpectLine, &kAccept};
curl_slist kPostHeaders = {kContentTypeLine, &kNoExpect};

long Milliseconds(absl::Duration duration) {
  return static_cast<long>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int32_t>::max()));
}

bool IsTarget(const std::string& path) {
  return !path.empty() && path[0] == '/' &&
         absl::c_all_of(path, [](char c) { return absl::ascii_isgraph(c) && c != '#'; });
}

// Whether libcurl would send this header exactly as given. libcurl omits a header whose value is empty. It sends a line
// break inside of a value unchanged, so that the rest of the value would become another header.
bool IsHeader(const std::string& name, const std::string& value) {
  return !name.empty() && absl::c_all_of(name, [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; }) &&
         absl::c_all_of(value, absl::ascii_isprint) && absl::c_any_of(value, absl::ascii_isgraph);
}

// Returns the value of the first response header called `name`, or an empty text if there is none.
absl::string_view HeaderValue(CURL* easy, const char* name) {
  curl_header* header = nullptr;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return "";
  return absl::StripAsciiWhitespace(header->value);
}

// Returns the values of all response headers called `name`, separated by commas.
std::string HeaderList(CURL* easy, const char* name) {
  std::string list;
  curl_header* header = nullptr;
  for (size_t i = 0; curl_easy_header(easy, name, i, CURLH_HEADER, -1, &header) == CURLHE_OK; ++i) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", header->value);
  }
  return list;
}

std::optional<absl::Duration> RetryAfter(CURL* easy) {
  const absl::string_view value = HeaderValue(easy, "Retry-After");
  if (value.empty()) return std::nullopt;
  absl::Duration wait = kMaxRetryAfter;
  if (absl::c_all_of(value, absl::ascii_isdigit)) {
    int64_t seconds;
    if (absl::SimpleAtoi(value, &seconds)) wait = absl::Seconds(seconds);
  } else {
    const time_t when = curl_getdate(std::string(value).c_str(), nullptr);
    if (when == -1) return std::nullopt;
    wait = absl::FromTimeT(when) - absl::Now();
  }
  return std::clamp(wait, absl::ZeroDuration(), kMaxRetryAfter);
}

}  // namespace

std::unique_ptr<CurlTransfer> CurlTransfer::Create(const std::string& base_url, const UpstreamOptions& options,
                                                   ConnectionTable* connections) {
  std::unique_ptr<CurlTransfer> transfer(new CurlTransfer(options.max_response_bytes, connections));
  transfer->easy_.reset(curl_easy_init());
  if (transfer->easy() == nullptr || !transfer->SetOptions(base_url, options)) return nullptr;
  return transfer;
}

bool CurlTransfer::SetOptions(const std::string& base_url, const UpstreamOptions& options) {
  bool ok = true;
  const auto set = [this, &ok](CURLoption option, auto value) {
    ok = ok && curl_easy_setopt(easy(), option, value) == CURLE_OK;
  };

  // The destination. Only the base URL determines the host; these options prevent everything else from changing it.
  // libcurl uses cookies, HSTS and Alt-Svc only if an option turns them on.
  set(CURLOPT_URL, base_url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // with nullptr, libcurl would use the proxy in the environment
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);

  // The servers that the client trusts.
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options.ca_file.empty()) {
    set(CURLOPT_CAINFO, options.ca_file.c_str());
    set(CURLOPT_CAPATH, nullptr);  // otherwise libcurl would also trust Debian's /etc/ssl/certs
    set(CURLOPT_CA_CACHE_TIMEOUT, kMaxConnectionSeconds);
  }

  // Connections.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // CURLOPT_PIPEWAIT stays off, so a burst opens a connection for each call, up to the limit. With this option, libcurl
  // 8.23 never starts the calls that wait for a connection if upstream does not support HTTP/2.
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(options.connect_timeout));
  set(CURLOPT_TIMEOUT_MS, Milliseconds(options.exchange_timeout));
  set(CURLOPT_MAXAGE_CONN, std::max(1L, static_cast<long>(absl::ToInt64Seconds(options.max_idle))));
  set(CURLOPT_MAXLIFETIME_CONN, kMaxConnectionSeconds);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // otherwise the end of a transfer could wait for the resolver

  // The request and the response.
  set(CURLOPT_USERAGENT, "stampgate");
  set(CURLOPT_UPLOAD_BUFFERSIZE, 16384L);  // the smallest size, because each handle keeps this memory
  set(CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::BeginConnection);
  set(CURLOPT_SOCKOPTDATA, this);
  set(CURLOPT_PREREQFUNCTION, &CurlTransfer::BeginRequest);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::ReadHeaderLine);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::WriteBody);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(max_response_bytes_));
  set(CURLOPT_ERRORBUFFER, error_);
  return ok;
}

curl_slist* CurlTransfer::WithTraceparent(const std::string& traceparent, curl_slist* headers) {
  if (traceparent.empty()) return headers;
  if (!IsHeader(kTraceparent, traceparent)) return nullptr;
  trace_line_ = absl::StrCat(kTraceparent, ": ", traceparent);
  trace_node_ = {trace_line_.data(), headers};
  return &trace_node_;
}

bool CurlTransfer::PreparePost(StampedRequest request, const std::string& traceparent) {
  curl_slist* const headers = WithTraceparent(traceparent, &kPostHeaders);
  if (headers == nullptr || !IsTarget(request.path()) || !IsHeader(request.header_name(), request.header_value())) {
    return false;
  }
  request_ = std::move(request);
  stamp_line_ = absl::StrCat(request_->header_name(), ": ", request_->header_value());
  stamp_node_ = {stamp_line_.data(), headers};
  return curl_easy_setopt(easy(), CURLOPT_POST, 1L) == CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_->body().size())) ==
             CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_POSTFIELDS, request_->body().data()) == CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, &stamp_node_) == CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_REQUEST_TARGET, request_->path().c_str()) == CURLE_OK;
}

bool CurlTransfer::PrepareGet(const DiscoveryRequest& request, const std::string& traceparent) {
  curl_slist* const headers = WithTraceparent(traceparent, &kAccept);
  return headers != nullptr && IsTarget(request.path) && curl_easy_setopt(easy(), CURLOPT_HTTPGET, 1L) == CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
         curl_easy_setopt(easy(), CURLOPT_REQUEST_TARGET, request.path.c_str()) == CURLE_OK;
}

int CurlTransfer::BeginConnection(void* data, curl_socket_t descriptor, curlsocktype) {
  auto* self = static_cast<CurlTransfer*>(data);
  if (self->body_sent()) return CURL_SOCKOPT_ERROR;
  self->opened_.push_back(descriptor);
  return CURL_SOCKOPT_OK;
}

int CurlTransfer::BeginRequest(void* data, char*, char* local_ip, int, int local_port) {
  auto* self = static_cast<CurlTransfer*>(data);
  if (self->body_sent()) return CURL_PREREQFUNC_ABORT;
  if (!self->opened_.empty()) {
    self->connections_->Add(local_ip, local_port, self->opened_);
  } else if (!self->IsConnectionFit(local_ip, local_port)) {
    self->unfit_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  ++self->requests_begun_;
  return CURL_PREREQFUNC_OK;
}

bool CurlTransfer::IsConnectionFit(const char* local_ip, int local_port) const {
  const curl_tlssessioninfo* tls = nullptr;
  curl_easy_getinfo(easy(), CURLINFO_TLS_SSL_PTR, &tls);
  if (tls != nullptr && tls->backend == CURLSSLBACKEND_OPENSSL && tls->internals != nullptr) {
    auto* ssl = static_cast<SSL*>(tls->internals);
    const unsigned char* protocol = nullptr;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    if (length == 2 && std::memcmp(protocol, "h2", 2) == 0) return true;  // unread bytes are frames of other streams
    if (SSL_has_pending(ssl) != 0) return false;
  }
  return connections_->IsQuiet(local_ip, local_port);
}

bool CurlTransfer::StartsAfresh() {
  if (!std::exchange(unfit_, false)) return false;
  afresh_ = true;
  error_[0] = '\0';
  return curl_easy_setopt(easy(), CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK;
}

size_t CurlTransfer::ReadHeaderLine(char* line, size_t size, size_t count, void* data) {
  // libcurl calls this function with each line. The lines of a 100 Continue come before the lines of the final
  // response.
  const absl::string_view text(line, size * count);
  auto* self = static_cast<CurlTransfer*>(data);
  if (absl::StartsWith(text, "HTTP/")) {
    self->head_complete_ = false;
    // After a 101, libcurl would wait for more bytes. None follow, because the request has not asked for another
    // protocol.
    self->switched_ = absl::StartsWith(text.substr(std::min(text.find(' '), text.size())), " 101");
    if (self->switched_) return 0;
  }
  if (text == "\r\n" || text == "\n") self->head_complete_ = true;
  return text.size();
}

size_t CurlTransfer::WriteBody(char* bytes, size_t size, size_t count, void* data) {
  auto* self = static_cast<CurlTransfer*>(data);
  const size_t length = size * count;
  if (static_cast<int64_t>(self->response_.size() + length) > self->max_response_bytes_) {
    self->too_large_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  if (self->response_.empty()) {
    curl_off_t announced = -1;  // -1 if the response is chunked; never above the limit, because libcurl fails first
    curl_easy_getinfo(self->easy(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    self->response_.reserve(std::max(length, static_cast<size_t>(std::max<curl_off_t>(announced, 0))) + kJsonPadding);
  }
  self->response_.append(bytes, length);
  return length;
}

HttpAnswer CurlTransfer::TakeAnswer() {
  HttpAnswer answer;
  long status = 0;
  curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  if (status != 200) answer.retry_after = RetryAfter(easy());
  if (!request_.has_value()) {
    answer.cache_control = HeaderList(easy(), "Cache-Control");
    answer.age = std::string(HeaderValue(easy(), "Age"));
  }
  response_.reserve(response_.size() + kJsonPadding);
  answer.body = std::move(response_);
  return answer;
}

UpstreamOutcome CurlTransfer::Finish(CURLcode code) {
  UpstreamOutcome outcome;
  if (code == CURLE_OK && !head_complete_) code = CURLE_PARTIAL_FILE;  // libcurl accepts headers that end too early
  if (switched_) {
    outcome = HttpAnswer{101, "", std::nullopt};
  } else if (code == CURLE_OK) {
    outcome = TakeAnswer();
  } else {
    outcome = DescribeFailure(
        code, {.connected = requests_begun_ > 0, .body_sent = requests_begun_ > 0, .too_large = too_large_}, error_);
  }
  reusable_ = code == CURLE_OK && requests_begun_ == 1 && !afresh_;
  request_.reset();
  opened_.clear();
  requests_begun_ = 0;
  head_complete_ = false;
  switched_ = false;
  too_large_ = false;
  response_.clear();
  error_[0] = '\0';
  return outcome;
}

}  // namespace stampgate
