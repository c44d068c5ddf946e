// A list of IP addresses and CIDR blocks.
#ifndef STAMPGATE_BASE_HTTP_ADDRESS_BLOCKS_H_
#define STAMPGATE_BASE_HTTP_ADDRESS_BLOCKS_H_

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace stampgate {

// Thread-safe if no thread calls Add.
class AddressBlocks {
 public:
  // Adds "10.0.0.0/8", "2001:db8::/32", or a single address. Error: kInvalidArgument if `text` is none of them, or if
  // the address of the block has bits after its prefix.
  absl::Status Add(const std::string& text);

  // Whether one of the blocks contains `address`. An IPv4 address that is mapped into IPv6 is the IPv4 address.
  bool Contains(const boost::asio::ip::address& address) const;

 private:
  using Bytes = std::array<uint8_t, 16>;  // an IPv6 address; IPv4 addresses are mapped into IPv6
  struct Block {
    Bytes first;
    int prefix_bits;
  };

  static Bytes BytesOf(const boost::asio::ip::address& address);
  // Returns the address with all bits after the prefix cleared.
  static Bytes Prefix(Bytes bytes, int prefix_bits);

  std::vector<Block> blocks_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_ADDRESS_BLOCKS_H_
