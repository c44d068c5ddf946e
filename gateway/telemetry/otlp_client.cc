#include "gateway/telemetry/otlp_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/secret/file.h"
#include "gateway/telemetry/export_headers.h"

namespace stampgate {
namespace {

// A response only contains a count and a text.
constexpr size_t kMaxResponseBytes = 64 << 10;

// Before a gRPC message: whether it is compressed (1 byte), and its length (4 bytes, big-endian).
constexpr size_t kPrefixBytes = 5;

// How long libcurl waits for the network until this code looks at the time again.
constexpr int kPollMilliseconds = 500;

struct EasyCleanup {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiCleanup {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListCleanup {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListCleanup>;

void Append(HeaderList& list, const std::string& header) {
  curl_slist* longer = curl_slist_append(list.get(), header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

std::string Framed(absl::string_view message) {
  std::string framed(kPrefixBytes, '\0');
  for (int i = 0; i < 4; ++i) framed[1 + i] = static_cast<char>(message.size() >> (24 - 8 * i));
  framed.append(message.data(), message.size());
  return framed;
}

absl::StatusOr<std::string> Unframed(const std::string& body) {
  size_t size = 0;
  for (size_t i = 1; i < kPrefixBytes && i < body.size(); ++i) size = size << 8 | static_cast<uint8_t>(body[i]);
  if (body.size() < kPrefixBytes || body[0] != 0 || size != body.size() - kPrefixBytes) {
    return absl::InternalError("the collector's response is not one uncompressed message of gRPC");
  }
  return body.substr(kPrefixBytes);
}

// The code that gRPC's specification gives to a response without a grpc-status.
absl::StatusCode CodeOfHttp(long status) {
  switch (status) {
    case 400:
      return absl::StatusCode::kInternal;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kUnknown;
  }
}

struct Response {
  std::string body;
  std::string grpc_status;
};

size_t OnBody(char* data, size_t size, size_t count, void* response) {
  std::string& body = static_cast<Response*>(response)->body;
  const size_t bytes = size * count;
  if (bytes > kMaxResponseBytes - body.size()) return CURL_WRITEFUNC_ERROR;
  body.append(data, bytes);
  return bytes;
}

// libcurl calls this function for headers and for trailers.
size_t OnHeader(char* data, size_t size, size_t count, void* response) {
  constexpr absl::string_view kName = "grpc-status:";
  const absl::string_view line(data, size * count);
  if (absl::StartsWithIgnoreCase(line, kName)) {
    static_cast<Response*>(response)->grpc_status =
        std::string(absl::StripAsciiWhitespace(line.substr(kName.size())).substr(0, 4));
  }
  return line.size();
}

absl::StatusOr<std::string> Outcome(const Response& response, long http_status) {
  int code;
  if (response.grpc_status.empty()) {
    return absl::Status(CodeOfHttp(http_status),
                        absl::StrCat("the collector responded without a status of gRPC, but with HTTP ", http_status));
  }
  if (!absl::SimpleAtoi(response.grpc_status, &code) || code < 0 || code > 16) {
    return absl::UnknownError("the collector responded with an unknown status of gRPC");
  }
  if (code == 0) return Unframed(response.body);
  return absl::Status(static_cast<absl::StatusCode>(code), "the collector refused the export");
}

}  // namespace

class OtlpClient::Curl {
 public:
  Curl() : multi_(curl_multi_init()), easy_(curl_easy_init()) {
    if (multi_ == nullptr || easy_ == nullptr) throw std::bad_alloc();
  }

  void Wake() { curl_multi_wakeup(multi_.get()); }

  // Makes the request for which `prepare` sets options. `end` returns when the request must have ended.
  template <typename End>
  CURLcode Run(const End& end) {
    if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    const CURLcode code = Wait(end);
    curl_multi_remove_handle(multi_.get(), easy_.get());
    return code;
  }

  CURL* easy() { return easy_.get(); }

 private:
  template <typename End>
  CURLcode Wait(const End& end) {
    for (;;) {
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg == CURLMSG_DONE) return message->data.result;
      }
      const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end() - Clock::now()).count();
      if (rest <= 0) return CURLE_OPERATION_TIMEDOUT;
      const int wait = static_cast<int>(std::min<int64_t>(rest, kPollMilliseconds));
      if (curl_multi_poll(multi_.get(), nullptr, 0, wait, nullptr) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    }
  }

  const std::unique_ptr<CURLM, MultiCleanup> multi_;  // keeps the connection
  const std::unique_ptr<CURL, EasyCleanup> easy_;
};

OtlpClient::OtlpClient(Options options) : options_(std::move(options)), curl_(std::make_unique<Curl>()) {}

OtlpClient::~OtlpClient() = default;

void OtlpClient::EndBy(Clock::time_point end) {
  end_ = end;
  curl_->Wake();
}

absl::StatusOr<std::string> OtlpClient::Export(const std::string& method, absl::string_view request) {
  const Clock::time_point limit = Clock::now() + absl::ToChronoMilliseconds(options_.timeout);
  HeaderList headers;
  for (const std::string& header :
       {std::string("content-type: application/grpc"), std::string("te: trailers"), std::string("expect:"),
        absl::StrCat("grpc-timeout: ", absl::ToInt64Milliseconds(options_.timeout), "m")}) {
    Append(headers, header);
  }
  if (!options_.headers_file.empty()) {
    const absl::StatusOr<SecretBytes> file = ReadSecretFile(options_.headers_file, options_.secret_owners);
    if (!file.ok()) return absl::UnavailableError(absl::StrCat("headers_file: ", file.status().message()));
    const absl::StatusOr<std::vector<std::string>> more = ParseExportHeaders(*file);
    if (!more.ok()) return absl::UnavailableError(absl::StrCat("headers_file: ", more.status().message()));
    for (const std::string& header : *more) Append(headers, header);
  }

  CURL* const easy = curl_->easy();
  curl_easy_reset(easy);
  bool ok = true;
  const auto set = [easy, &ok](CURLoption option, auto value) {
    ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK;
  };
  const std::string body = Framed(request);
  const bool is_tls = absl::StartsWith(options_.endpoint, "https:");
  Response response;
  set(CURLOPT_URL, absl::StrCat(options_.endpoint, method).c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");  // with nullptr, libcurl would use the proxy in the environment
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options_.ca_file.empty()) {
    set(CURLOPT_CAINFO, options_.ca_file.c_str());
    set(CURLOPT_CAPATH, nullptr);       // otherwise libcurl would also trust Debian's /etc/ssl/certs
    set(CURLOPT_CA_CACHE_TIMEOUT, 0L);  // reads the file for each connection, so that a new authority needs no restart
  }
  set(CURLOPT_HTTP_VERSION, static_cast<long>(is_tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_WRITEFUNCTION, &OnBody);
  set(CURLOPT_WRITEDATA, &response);
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, &response);
  // Each new connection resolves the name again, because the collector can have another address now. The connection is
  // kept, so that this seldom happens.
  set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // otherwise the end of an export could wait for the resolver
  if (!ok) return absl::InternalError("libcurl refuses an option of the export");

  const CURLcode code = curl_->Run([this, limit] { return std::min(limit, end_.load()); });
  if (code == CURLE_OPERATION_TIMEDOUT) return absl::DeadlineExceededError("the export took too long");
  // After the response's trailers, the way in which the stream ends does not matter.
  if (code != CURLE_OK && response.grpc_status.empty()) return absl::UnavailableError(curl_easy_strerror(code));
  long http_status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http_status);
  return Outcome(response, http_status);
}

}  // namespace stampgate
