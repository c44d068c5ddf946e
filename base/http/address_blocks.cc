#include "base/http/address_blocks.h"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/system/error_code.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {

namespace ip = boost::asio::ip;

absl::Status AddressBlocks::Add(const std::string& text) {
  const size_t slash = text.find('/');
  boost::system::error_code error;
  const ip::address address = ip::make_address(text.substr(0, slash), error);
  if (error || text.find('%') != std::string::npos) {
    return absl::InvalidArgumentError("must be an IP address or a CIDR block, such as 10.0.0.0/8");
  }
  const int most = address.is_v4() ? 32 : 128;
  int bits = most;
  if (slash != std::string::npos) {
    const absl::string_view digits = absl::string_view(text).substr(slash + 1);
    if (digits.empty() || digits.size() > 3 || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
        !absl::SimpleAtoi(digits, &bits) || bits > most) {
      return absl::InvalidArgumentError(absl::StrCat("must have a prefix of 0 to ", most, " bits after '/'"));
    }
  }
  const Block block{BytesOf(address), address.is_v4() ? bits + 96 : bits};
  if (Prefix(block.first, block.prefix_bits) != block.first) {
    return absl::InvalidArgumentError("must have an address whose bits after the prefix are 0, such as 10.0.0.0/8");
  }
  blocks_.push_back(block);
  return absl::OkStatus();
}

bool AddressBlocks::Contains(const ip::address& address) const {
  const Bytes bytes = BytesOf(address);
  return std::ranges::any_of(blocks_,
                             [&bytes](const Block& block) { return Prefix(bytes, block.prefix_bits) == block.first; });
}

AddressBlocks::Bytes AddressBlocks::BytesOf(const ip::address& address) {
  return address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes() : address.to_v6().to_bytes();
}

AddressBlocks::Bytes AddressBlocks::Prefix(Bytes bytes, int prefix_bits) {
  for (int i = 0; i < static_cast<int>(bytes.size()); ++i) {
    const int kept = std::clamp(prefix_bits - 8 * i, 0, 8);
    bytes[i] = static_cast<uint8_t>(bytes[i] & (0xff << (8 - kept)));
  }
  return bytes;
}

}  // namespace stampgate
