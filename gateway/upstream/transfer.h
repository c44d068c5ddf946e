// A libcurl easy handle that never sends a POST twice.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_TRANSFER_H_
#define STAMPGATE_GATEWAY_UPSTREAM_TRANSFER_H_

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/upstream/connection_table.h"
#include "gateway/upstream/options.h"
#include "stamp/stamped_request.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Carries exchanges, one after the other, with the same options. Not thread-safe. Owns the request and the response.
// When this object is prepared or destroyed, no multi handle may contain the easy handle.
//
// Sends a POST at most once. libcurl would repeat a POST when a reused connection breaks. Two callbacks end the
// transfer instead: BeginConnection if libcurl opens another connection, and BeginRequest if libcurl begins the request
// again. (A read callback that cannot rewind the body would also prevent the repetition in libcurl 7.88. But libcurl
// would then send the body separately from the request head, which takes 30% more CPU time.)
class CurlTransfer {
 public:
  // `base_url` must be a result of ParseBaseUrl. All transfers of one multi handle share `connections`, which must
  // outlive them. Returns nullptr if libcurl has no memory or refuses an option, because a transfer needs all of its
  // options.
  static std::unique_ptr<CurlTransfer> Create(const std::string& base_url, const UpstreamOptions& options,
                                              ConnectionTable* connections);

  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  CURL* easy() const { return easy_.get(); }

  // Prepares the handle for a request. Returns false if libcurl would not send the path or a header unchanged, or if
  // upstream could misread them. The transfer must not be started then.
  bool PreparePost(StampedRequest request, const std::string& traceparent);
  bool PrepareGet(const DiscoveryRequest& request, const std::string& traceparent);

  // Whether a byte of the body may have left. libcurl sends the body together with the request head.
  bool body_sent() const { return request_.has_value() && requests_begun_ > 0; }

  // Returns true if the transfer has sent nothing and has ended because its idle connection could not be used (see
  // ConnectionTable). The transfer may then be started again, once, and opens a new connection.
  bool StartsAfresh();

  // Returns the outcome of the exchange, with the response, and deletes the request.
  UpstreamOutcome Finish(CURLcode code);

  // After Finish, returns whether the handle may carry another exchange. It may not after a failure, a removal from the
  // multi handle, or a second start: libcurl 7.88 counts the repetitions of each handle, and stores that it must rewind
  // a body, with which the next exchange would fail.
  bool reusable() const { return reusable_; }

 private:
  struct Cleanup {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  CurlTransfer(int64_t max_response_bytes, ConnectionTable* connections)
      : max_response_bytes_(max_response_bytes), connections_(connections) {}

  bool SetOptions(const std::string& base_url, const UpstreamOptions& options);

  // Returns `headers`, with a traceparent header before them unless `traceparent` is empty. Returns null if
  // `traceparent` cannot be sent unchanged.
  curl_slist* WithTraceparent(const std::string& traceparent, curl_slist* headers);

  static int BeginConnection(void* self, curl_socket_t descriptor, curlsocktype);
  static int BeginRequest(void* self, char* ip, char* local_ip, int port, int local_port);
  static size_t ReadHeaderLine(char* line, size_t size, size_t count, void* self);
  static size_t WriteBody(char* data, size_t size, size_t count, void* self);

  bool IsConnectionFit(const char* local_ip, int local_port) const;
  HttpAnswer TakeAnswer();

  const int64_t max_response_bytes_;
  ConnectionTable* const connections_;
  std::optional<StampedRequest> request_;  // empty for a GET
  std::string stamp_line_;
  curl_slist stamp_node_ = {};
  std::string trace_line_;
  curl_slist trace_node_ = {};
  std::vector<int> opened_;  // the descriptors that libcurl has opened for this exchange
  bool unfit_ = false;
  bool afresh_ = false;
  int requests_begun_ = 0;
  bool head_complete_ = false;
  bool switched_ = false;  // upstream answered 101
  bool too_large_ = false;
  bool reusable_ = false;
  std::string response_;
  char error_[CURL_ERROR_SIZE] = {};
  std::unique_ptr<CURL, Cleanup> easy_;  // destroyed first, because it points to other members
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_TRANSFER_H_
