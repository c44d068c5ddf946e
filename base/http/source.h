// Groups peers by the network from which they connect.
#ifndef STAMPGATE_BASE_HTTP_SOURCE_H_
#define STAMPGATE_BASE_HTTP_SOURCE_H_

#include <boost/asio/ip/address.hpp>
#include <string>

namespace stampgate {

// Returns the source of an address. All addresses that one party usually has get the same source. The source is the
// IPv4 address, even if the IPv4 address is mapped into IPv6. For other IPv6 addresses, the source is the first 64
// bits.
std::string SourceOf(const boost::asio::ip::address& address);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_SOURCE_H_
