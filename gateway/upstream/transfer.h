// One libcurl easy handle, fenced in.
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

// Carries one exchange after another, with the same options. For one thread. Holds request and response; the handle
// must not be part of a multi handle when it is destroyed or prepared.
//
// A POST goes out at most once. libcurl would repeat it when a reused connection dies, so two callbacks end the
// transfer instead: one when another connection would be opened, one when another request would begin. (A body from a
// read callback that cannot rewind says the same to libcurl 7.88, but is sent apart from the head: +30% CPU, measured.)
class CurlTransfer {
 public:
  // `base_url` is from ParseBaseUrl; `connections` is shared by the transfers of one multi handle and outlives them.
  // nullptr if libcurl has no memory or refuses an option: there is no transfer without all of its fences.
  static std::unique_ptr<CurlTransfer> Create(const std::string& base_url, const UpstreamOptions& options,
                                              ConnectionTable* connections);

  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  CURL* easy() const { return easy_.get(); }

  // Sets the handle up for a request. False, and nothing may be sent, if its path or header would not be read by
  // upstream as they are meant.
  bool PreparePost(StampedRequest request, const std::string& traceparent);
  bool PrepareGet(const DiscoveryRequest& request, const std::string& traceparent);

  // Whether a byte of the body may have left: head and body leave together.
  bool body_sent() const { return request_.has_value() && requests_begun_ > 0; }

  // True if the transfer has ended because its connection was not fit for the request, of which nothing was sent.
  // It may be started again once, and will make a connection of its own.
  bool StartsAfresh();

  // How the exchange ended. Takes the response out and forgets the request.
  UpstreamOutcome Finish(CURLcode code);

  // After Finish: whether the handle may carry another exchange. Not after a failure, a removal or a repetition:
  // libcurl 7.88 counts repetitions per handle, and remembers that it was to rewind a body, which fails the next one.
  bool reusable() const { return reusable_; }

 private:
  struct Cleanup {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  CurlTransfer(int64_t max_response_bytes, ConnectionTable* connections)
      : max_response_bytes_(max_response_bytes), connections_(connections) {}

  bool SetOptions(const std::string& base_url, const UpstreamOptions& options);

  // `headers` with `traceparent` before them, unless it is empty. Null if it would not be read as it is meant.
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
  std::vector<int> opened_;  // descriptors of this exchange's own connection, or attempts at it
  bool unfit_ = false;
  bool afresh_ = false;
  int requests_begun_ = 0;
  bool head_complete_ = false;
  bool switched_ = false;  // upstream answered 101
  bool too_large_ = false;
  bool reusable_ = false;
  std::string response_;
  char error_[CURL_ERROR_SIZE] = {};
  std::unique_ptr<CURL, Cleanup> easy_;  // destroyed before what it points to
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_TRANSFER_H_
