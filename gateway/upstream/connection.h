// A connection to upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_H_

#include <curl/curl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// A connection that libcurl has opened and, with TLS, verified. Must be used and destroyed on the thread of its event
// loop. A shared_ptr must own it.
class UpstreamConnection : public std::enable_shared_from_this<UpstreamConnection> {
 public:
  using Clock = std::chrono::steady_clock;
  using OnReady = absl::AnyInvocable<void()>;
  // kEnded: the peer has ended its side properly, with TLS by its close_notify. kBroken: any other end.
  enum class Result { kSome, kLater, kEnded, kBroken };

  // `easy` belongs to `multi`, and has ended a transfer with CURLOPT_CONNECT_ONLY. `multi` must outlive the connection,
  // which owns `easy`.
  UpstreamConnection(CURLM* multi, CURL* easy, boost::asio::io_context& io);
  // Closes the connection.
  ~UpstreamConnection();
  UpstreamConnection(const UpstreamConnection&) = delete;
  UpstreamConnection& operator=(const UpstreamConnection&) = delete;

  // Sends the first bytes of `bytes`, and removes them. Never blocks.
  Result Send(absl::string_view& bytes);

  // Receives bytes into `buffer`, and makes `received` a view of them. Never blocks.
  Result Receive(char* buffer, size_t size, absl::string_view& received);

  // Calls `ready` once when the connection may be read or written. A new function replaces an earlier one.
  void WhenReadable(OnReady ready) { Wait(reading_, Descriptor::wait_read, std::move(ready)); }
  void WhenWritable(OnReady ready) { Wait(writing_, Descriptor::wait_write, std::move(ready)); }

  // Calls `ready` in slot of the function of WhenReadable, after the handlers that are ready to run.
  void ReadLater(OnReady ready);

  // Destroys the functions of WhenReadable and WhenWritable that were not called.
  void StopWaiting();

  // Returns true if the connection has not ended and has no unread bytes. Must be called only after an exchange. Bytes
  // that arrive between two exchanges are no response to the next request: they can be the 408 of a proxy that is about
  // to close the connection or, worse, a late response to another call.
  bool IsQuiet() const;

  Clock::time_point opened_at() const { return opened_at_; }

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
  struct Waiting {
    OnReady ready;
    bool is_pending = false;
  };

  void Wait(Waiting& waiting, Descriptor::wait_type type, OnReady ready);

  CURLM* const multi_;
  CURL* const easy_;
  const Clock::time_point opened_at_ = Clock::now();
  const int fd_;
  Descriptor descriptor_;
  Waiting reading_;
  Waiting writing_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CONNECTION_H_
