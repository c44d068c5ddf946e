// Measures the HTTP part of the minimum cost of a call: the CPU that libcurl's multi interface with epoll needs for one
// POST, without other work. Sends a captured request repeatedly over kept-alive connections, one for each request in
// flight.

#include <curl/curl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, base_url, "", "https://host:port");
ABSL_FLAG(std::string, ca_file, "", "PEM file");
ABSL_FLAG(std::string, request, "", "path of the captured request, without the endings .head and .body");
ABSL_FLAG(int, in_flight, 64, "number of requests in flight");
ABSL_FLAG(absl::Duration, warm_up, absl::Milliseconds(400), "duration of the load before the measurement");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(2), "duration of the measurement");

namespace stampgate::bench {
namespace {

struct CapturedRequest {
  std::string path;
  curl_slist* headers = nullptr;  // the headers that libcurl does not set by itself
  std::string body;

  explicit CapturedRequest(const std::string& file) : body(ReadFile(file + ".body")) {
    const std::string head = ReadFile(file + ".head");
    const std::vector<std::string> words = absl::StrSplit(head, absl::MaxSplits(' ', 2));
    if (words.size() > 1) path = words[1];
    for (absl::string_view line : absl::StrSplit(head, "\r\n", absl::SkipEmpty())) {
      if (absl::StartsWithIgnoreCase(line, "x-stamp:") || absl::StartsWithIgnoreCase(line, "content-type:") ||
          absl::StartsWithIgnoreCase(line, "accept:")) {
        headers = curl_slist_append(headers, std::string(line).c_str());
      }
    }
    headers = curl_slist_append(headers, "Expect:");
  }
};

size_t Store(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

class CurlFloor {
 public:
  CurlFloor()
      : request_(absl::GetFlag(FLAGS_request)),
        url_(absl::StrCat(absl::GetFlag(FLAGS_base_url), request_.path)),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        multi_(curl_multi_init()),
        bodies_(absl::GetFlag(FLAGS_in_flight)) {
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlFloor::OnInterest);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlFloor::OnTimeout);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(bodies_.size()));
    for (std::string& body : bodies_) curl_multi_add_handle(multi_, MakeHandle(&body));
  }

  bool Run() {
    if (!RunUntil(absl::Now() + absl::GetFlag(FLAGS_warm_up))) return false;
    calls_ = 0;
    const absl::Time begin = absl::Now();
    const absl::Duration cpu_before = ProcessCpu(0).value();
    if (!RunUntil(begin + absl::GetFlag(FLAGS_measure)) || calls_ == 0) return false;
    const absl::Duration cpu = ProcessCpu(0).value() - cpu_before;
    std::printf("cpu_us=%.2f per_second=%.0f request_bytes=%zu response_bytes=%zu calls=%d\n",
                absl::ToDoubleMicroseconds(cpu) / calls_, calls_ / absl::ToDoubleSeconds(absl::Now() - begin),
                request_.body.size(), response_bytes_, calls_);
    return true;
  }

 private:
  CURL* MakeHandle(std::string* body) {
    CURL* const easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_CAINFO, absl::GetFlag(FLAGS_ca_file).c_str());
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request_.headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.data());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Store);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, body);
    return easy;
  }

  static int OnInterest(CURL*, curl_socket_t descriptor, int what, void* data, void* known) {
    auto* self = static_cast<CurlFloor*>(data);
    epoll_event event{};
    event.data.fd = descriptor;
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(self->poll_, EPOLL_CTL_DEL, descriptor, &event);
    } else {
      epoll_ctl(self->poll_, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
      curl_multi_assign(self->multi_, descriptor, self);  // libcurl passes this pointer to later callbacks as `known`
    }
    return 0;
  }

  static int OnTimeout(CURLM*, long milliseconds, void* data) {
    auto* self = static_cast<CurlFloor*>(data);
    self->timeout_ = milliseconds < 0 ? absl::InfiniteFuture() : absl::Now() + absl::Milliseconds(milliseconds);
    return 0;
  }

  bool RunUntil(absl::Time end) {
    while (absl::Now() < end) {
      epoll_event events[256];
      const absl::Duration wait = std::clamp(timeout_ - absl::Now(), absl::ZeroDuration(), absl::Milliseconds(100));
      const int count = epoll_wait(
          poll_, events, 256, static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)))));
      int running;
      for (int i = 0; i < count; ++i) {
        const int what = ((events[i].events & ~EPOLLOUT) ? CURL_CSELECT_IN : 0) |
                         ((events[i].events & EPOLLOUT) ? CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(multi_, events[i].data.fd, what, &running);
      }
      if (timeout_ <= absl::Now()) {
        timeout_ = absl::InfiniteFuture();
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      }
      if (!TakeDone()) return false;
    }
    return true;
  }

  // Starts the request again on each connection on which the previous request has ended. Returns false if a request
  // failed.
  bool TakeDone() {
    int left;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      CURL* const easy = message->easy_handle;
      const CURLcode code = message->data.result;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      if (code != CURLE_OK || status != 200) {
        std::fprintf(stderr, "curl_floor: %s, HTTP %ld\n", curl_easy_strerror(code), status);
        return false;
      }
      std::string* body = nullptr;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &body);
      response_bytes_ = body->size();
      body->clear();
      ++calls_;
      curl_multi_remove_handle(multi_, easy);
      curl_multi_add_handle(multi_, easy);
    }
    return true;
  }

  const CapturedRequest request_;
  const std::string url_;
  const int poll_;
  CURLM* const multi_;
  std::vector<std::string> bodies_;
  absl::Time timeout_ = absl::InfiniteFuture();
  int calls_ = 0;
  size_t response_bytes_ = 0;
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return stampgate::bench::CurlFloor().Run() ? 0 : 1;
}
