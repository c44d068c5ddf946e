// A POST request to upstream, with a stamp that signs its body.
#ifndef STAMPGATE_STAMP_STAMPED_REQUEST_H_
#define STAMPGATE_STAMP_STAMPED_REQUEST_H_

#include <string>
#include <utility>

namespace stampgate {

// Only Stamper and ClientStamp can create a StampedRequest, and the upstream client can post nothing else. Code that
// posts to upstream without a stamp therefore does not compile.
class StampedRequest {
 public:
  StampedRequest(StampedRequest&&) = default;
  StampedRequest& operator=(StampedRequest&&) = default;
  StampedRequest(const StampedRequest&) = delete;
  StampedRequest& operator=(const StampedRequest&) = delete;

  // The path after the base URL, such as "/public/v1/submit/oauth".
  const std::string& path() const { return path_; }
  // The bytes that were stamped, which are sent unchanged.
  const std::string& body() const { return body_; }
  std::string TakeBody() && { return std::move(body_); }
  // The header that contains the stamp.
  const std::string& header_name() const { return header_name_; }
  const std::string& header_value() const { return header_value_; }

 private:
  friend class ClientStamp;
  friend class Stamper;

  StampedRequest(std::string path, std::string body, std::string header_name, std::string header_value)
      : path_(std::move(path)),
        body_(std::move(body)),
        header_name_(std::move(header_name)),
        header_value_(std::move(header_value)) {}

  std::string path_;
  std::string body_;
  std::string header_name_;
  std::string header_value_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMPED_REQUEST_H_
