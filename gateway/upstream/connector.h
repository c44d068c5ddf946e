// Opens connections to upstream with libcurl.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CONNECTOR_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CONNECTOR_H_

#include <curl/curl.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "base/loop/event_loop.h"
#include "gateway/upstream/connection.h"
#include "gateway/upstream/options.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Resolves the name of upstream, connects, performs the TLS handshake and verifies the certificate, all by libcurl's
// multi interface on an event loop. libcurl uses an address that it has resolved for a minute. But after an attempt
// that has not succeeded, attempts resolve the name again until one succeeds, because upstream can have another address
// now. Must be used and destroyed on the thread of the loop.
class Connector {
 public:
  using AttemptId = uint64_t;
  // Receives the connection; if there is none, `connection` is null, and `failure` says why.
  using Done = absl::AnyInvocable<void(std::shared_ptr<UpstreamConnection> connection, TransportFailure failure)>;

  // `base_url` must be a result of ParseBaseUrl. `loop` and `options` must outlive the connector. Throws std::bad_alloc
  // if libcurl has no memory.
  Connector(EventLoop& loop, std::string base_url, const UpstreamOptions& options);

  // All connections must have been destroyed before. Ends the attempts, without calling their functions.
  ~Connector();

  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Returns whether libcurl has all options that the connector needs.
  static bool IsSupported(const std::string& base_url, const UpstreamOptions& options);

  // Begins to open a connection, or queues the attempt if several others are in progress. An attempt that is queued for
  // the time limit of connecting fails. `done` is called once, never inside of this function.
  AttemptId Connect(Done done);

  // Ends an attempt without calling its function. Ignores attempts that have ended.
  void Cancel(AttemptId id);

 private:
  struct CleanMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct CleanEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  using Easy = std::unique_ptr<CURL, CleanEasy>;
  struct Attempt {
    AttemptId id = 0;
    Easy easy;  // null while the attempt is queued
    std::chrono::steady_clock::time_point queued_at = std::chrono::steady_clock::now();
    Done done;
    char error[CURL_ERROR_SIZE] = {};
  };
  // A descriptor that libcurl waits for.
  struct Watch {
    explicit Watch(boost::asio::io_context& io, int fd) : descriptor(io.get_executor(), fd) {}
    ~Watch() { Release(); }
    // Leaves the descriptor open, because it is libcurl's.
    void Release() {
      if (descriptor.is_open()) descriptor.release();
    }
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> descriptor;
    int wanted = 0;  // CURL_POLL_IN and CURL_POLL_OUT
    bool is_reading = false;
    bool is_writing = false;
  };

  static Easy MakeEasy(const std::string& base_url, const UpstreamOptions& options);
  static int OnInterest(CURL* easy, curl_socket_t descriptor, int what, void* self, void* unused);
  static int OnTimeout(CURLM* multi, long milliseconds, void* self);

  void Want(int descriptor, int wanted);
  void Wait(int descriptor, const std::shared_ptr<Watch>& watch);
  void Act(curl_socket_t descriptor, int events);
  void Begin(AttemptId id);
  void BeginQueued();
  void End(AttemptId id, CURLcode code);

  EventLoop& loop_;
  const std::string base_url_;
  const UpstreamOptions& options_;
  AttemptId last_id_ = 0;
  std::map<AttemptId, std::unique_ptr<Attempt>> attempts_;
  AttemptId next_ = 1;  // the first attempt that may be queued
  int in_progress_ = 0;
  bool resolves_again_ = false;  // whether the next attempt ignores the address that libcurl has
  absl::flat_hash_map<int, std::shared_ptr<Watch>> watches_;
  std::optional<TimerId> timer_;
  std::unique_ptr<CURLM, CleanMulti> multi_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CONNECTOR_H_
