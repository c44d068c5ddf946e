// Where a peer comes from, as far as that distinguishes one party from another.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_

#include <boost/asio/ip/address.hpp>
#include <string>

namespace stampgate {

// The same text for all addresses that one party usually has: an IPv4 address, also where it is written as an IPv6
// one, or the first 64 bits of an IPv6 address.
std::string SourceOf(const boost::asio::ip::address& address);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_SOURCE_H_
