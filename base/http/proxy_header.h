// Reads the header of the PROXY protocol, with which a load balancer states the address of its client.
//
// The specification is proxy-protocol.txt of HAProxy, versions 1 and 2. No library of the build reads this header.
#ifndef STAMPGATE_BASE_HTTP_PROXY_HEADER_H_
#define STAMPGATE_BASE_HTTP_PROXY_HEADER_H_

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace stampgate {

// The largest header of version 2 that is accepted, with its TLVs. A header of version 1 has at most 107 bytes.
inline constexpr size_t kMaxProxyHeaderBytes = 4096;

struct ProxyHeader {
  enum class State {
    kMore,       // the bytes are the beginning of a header, or there are none yet
    kDone,       // the bytes begin with a header
    kAbsent,     // the bytes do not begin with a header
    kMalformed,  // the bytes begin as a header does, but break its rules
  };

  State state = State::kAbsent;
  // kMore: the header has at least so many further bytes, so a reader of so many bytes reads nothing after the header.
  // kDone: the size of the header.
  size_t bytes = 0;
  // kDone: the address of the client. Nothing if the load balancer itself is the client (LOCAL), or does not state the
  // address of a TCP client (UNKNOWN, UNSPEC, and other families): the address of the connection then counts.
  std::optional<boost::asio::ip::address> client;
};

// Reads the header at the beginning of `bytes`, which are all bytes of a connection so far. Ignores the TLVs of version
// 2. Thread-safe.
ProxyHeader ReadProxyHeader(absl::string_view bytes);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_PROXY_HEADER_H_
