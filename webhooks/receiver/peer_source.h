// Groups peers by the network from which they connect.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_

#include <boost/asio/ip/address.hpp>
#include <string>

namespace stampgate {

// Returns the source of an address, which is equal for all addresses that one party usually has. It is an IPv4 address
// (also for one that is mapped into IPv6), or the first 64 bits of an IPv6 address.
std::string SourceOf(const boost::asio::ip::address& address);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_
