#include "base/http/source.h"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

namespace stampgate {

namespace ip = boost::asio::ip;

std::string SourceOf(const ip::address& address) {
  if (address.is_v4()) return address.to_string();
  ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
  if (address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return ip::address_v6(bytes).to_string();
}

}  // namespace stampgate
