// libcurl's multi interface on an EventLoop.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_MULTI_H_
#define STAMPGATE_GATEWAY_UPSTREAM_MULTI_H_

#include <curl/curl.h>
#include <uv.h>

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "gateway/upstream/event_loop.h"

namespace stampgate {

struct CurlMultiCleanup {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using CurlMultiHandle = std::unique_ptr<CURLM, CurlMultiCleanup>;

// Runs transfers and keeps their connections. Everything happens on the loop's thread, construction included.
// Owns neither the loop nor the easy handles; those must be removed before it is destroyed.
class CurlMulti {
 public:
  // Called when a transfer has ended and is no longer part of the multi handle. May call Add and Remove.
  using OnDone = absl::AnyInvocable<void(CURL*, CURLcode)>;

  CurlMulti(EventLoop* loop, CurlMultiHandle multi, int max_connections, bool multiplex, OnDone on_done);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // Starts a transfer; nothing happens before the loop's next round. False if there is no memory.
  bool Add(CURL* easy);

  // Ends a transfer without OnDone. Its connection is closed if it was in the midst of something.
  void Remove(CURL* easy);

 private:
  // How a descriptor is polled. Kept when libcurl needs it no more, for the next descriptor with that number: libuv's
  // handle holds nothing else, and to set one up costs three system calls. A handle that is not polling may outlive
  // its descriptor.
  struct Socket {
    std::unique_ptr<uv_poll_t, UvClose> poll;
    int wanted = 0;  // by libcurl, UV_READABLE | UV_WRITABLE
  };

  static int OnInterest(CURL* easy, curl_socket_t descriptor, int what, void* self, void* unused);
  static int OnTimeout(CURLM* multi, long milliseconds, void* self);
  static void OnEvent(uv_poll_t* poll, int status, int events);

  void Poll(curl_socket_t descriptor, int wanted);
  void Act(curl_socket_t descriptor, int events);

  EventLoop* const loop_;
  OnDone on_done_;
  Timer timer_;
  absl::flat_hash_map<curl_socket_t, Socket> sockets_;
  CurlMultiHandle multi_;  // destroyed first: its end calls OnInterest and OnTimeout
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_MULTI_H_
