// A string body for Boost.Beast that grows with the received bytes. Beast's own string body reserves memory for the
// whole Content-Length.
#ifndef STAMPGATE_BASE_HTTP_GROWING_BODY_H_
#define STAMPGATE_BASE_HTTP_GROWING_BODY_H_

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stampgate {

// Boost.Beast prescribes the names of the members.
struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>&, std::string& body) : body_(body) {}

    void init(const boost::optional<uint64_t>&, boost::beast::error_code& error) { error = {}; }

    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      size_t count = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        count += buffer.size();
      }
      return count;
    }

    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    std::string& body_;
  };
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_GROWING_BODY_H_
