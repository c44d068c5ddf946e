// Runs libcurl's multi interface on an EventLoop.
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

// Runs transfers, and keeps their connections for later transfers. Must be created, used and destroyed on the loop's
// thread. Owns neither the loop nor the easy handles. All easy handles must be removed before this object is destroyed.
class CurlMulti {
 public:
  // Called when a transfer has ended and is no longer part of the multi handle. May call Add and Remove.
  using OnDone = absl::AnyInvocable<void(CURL*, CURLcode)>;

  CurlMulti(EventLoop* loop, CurlMultiHandle multi, int max_connections, bool multiplex, OnDone on_done);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // Starts a transfer, which begins in the loop's next round. Returns false if there is no memory.
  bool Add(CURL* easy);

  // Ends a transfer without calling OnDone. Closes the transfer's connection if a request or a response was not
  // complete.
  void Remove(CURL* easy);

 private:
  // How libuv polls a descriptor. When libcurl no longer needs the descriptor, the entry stays, for the next descriptor
  // with the same number: libuv's handle contains nothing else of the descriptor, and a new handle would cost three
  // system calls. A handle that is not polling may outlive its descriptor.
  struct Socket {
    std::unique_ptr<uv_poll_t, UvClose> poll;
    int wanted = 0;  // what libcurl waits for: UV_READABLE, UV_WRITABLE, both or neither
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
  CurlMultiHandle multi_;  // destroyed first, because its destruction calls OnInterest and OnTimeout
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_MULTI_H_
