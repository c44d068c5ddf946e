// A POST request to upstream, with a stamp that signs its body.
#ifndef STAMPGATE_STAMP_STAMPED_REQUEST_H_
#define STAMPGATE_STAMP_STAMPED_REQUEST_H_

#include <memory>
#include <string>
#include <utility>

namespace stampgate {

// Only Stamper and ClientStamp can create a StampedRequest, and the upstream client can post nothing else. Code that
// posts to upstream without a stamp therefore does not compile. A copy shares the texts of the original, so that a
// retry sends the same bytes with the same stamp. Immutable.
class StampedRequest {
 public:
  // The path after the base URL, such as "/public/v1/submit/oauth".
  const std::string& path() const { return texts_->path; }
  // The bytes that were stamped, which are sent unchanged.
  const std::string& body() const { return texts_->body; }
  std::shared_ptr<const std::string> shared_body() const { return {texts_, &texts_->body}; }
  // The header that contains the stamp.
  const std::string& header_name() const { return texts_->header_name; }
  const std::string& header_value() const { return texts_->header_value; }

 private:
  friend class ClientStamp;
  friend class Stamper;

  struct Texts {
    std::string path;
    std::string body;
    std::string header_name;
    std::string header_value;
  };

  StampedRequest(std::string path, std::string body, std::string header_name, std::string header_value)
      : texts_(std::make_shared<const Texts>(
            Texts{std::move(path), std::move(body), std::move(header_name), std::move(header_value)})) {}

  std::shared_ptr<const Texts> texts_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMPED_REQUEST_H_
