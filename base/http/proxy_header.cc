#include "base/http/proxy_header.h"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/system/error_code.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace stampgate {
namespace {

namespace ip = boost::asio::ip;
using State = ProxyHeader::State;

constexpr absl::string_view kBeginning1 = "PROXY ";
constexpr absl::string_view kShortest1 = "PROXY UNKNOWN\r\n";
constexpr size_t kLongest1 = 107;  // with the line end

constexpr absl::string_view kBeginning2("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kFixed2 = 16;  // the bytes before the addresses

// The commands, families and protocols of version 2.
constexpr int kLocal = 0;
constexpr int kProxy = 1;
constexpr int kInet = 1;
constexpr int kInet6 = 2;
constexpr size_t kAddressBytes[] = {0, 12, 36, 216};  // for each family, the bytes of both addresses and ports
constexpr int kStream = 1;
constexpr int kLastProtocol = 2;

ProxyHeader More(size_t bytes) { return {State::kMore, bytes, std::nullopt}; }
ProxyHeader Malformed() { return {State::kMalformed, 0, std::nullopt}; }

std::optional<ip::address> AddressOf(absl::string_view family, const std::string& text) {
  boost::system::error_code error;
  ip::address address;
  if (family == "TCP4") {
    address = ip::make_address_v4(text, error);
  } else if (!absl::StrContains(text, '%')) {  // an address with a scope is no address of another machine
    address = ip::make_address_v6(text, error);
  } else {
    return std::nullopt;
  }
  if (error) return std::nullopt;
  return address;
}

bool IsPort(absl::string_view text) {
  uint32_t port;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, &port) && port <= 65535;
}

// Reads version 1: one line of text.
ProxyHeader ReadText(absl::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == absl::string_view::npos) {
    if (bytes.size() >= kLongest1) return Malformed();
    if (bytes.size() < kShortest1.size()) return More(kShortest1.size() - bytes.size());
    return More(bytes.back() == '\r' ? 1 : std::min<size_t>(2, kLongest1 - bytes.size()));
  }
  if (end + 1 > kLongest1 || bytes[end - 1] != '\r') return Malformed();
  const ProxyHeader done{State::kDone, end + 1, std::nullopt};
  const std::vector<absl::string_view> words = absl::StrSplit(bytes.substr(0, end - 1), ' ');
  if (words[1] == "UNKNOWN") return done;  // a receiver must ignore the rest of the line
  if (words.size() != 6 || (words[1] != "TCP4" && words[1] != "TCP6")) return Malformed();
  const std::optional<ip::address> client = AddressOf(words[1], std::string(words[2]));
  if (!client.has_value() || !AddressOf(words[1], std::string(words[3])).has_value() || !IsPort(words[4]) ||
      !IsPort(words[5])) {
    return Malformed();
  }
  return {State::kDone, end + 1, client};
}

template <typename Address>
ip::address AddressAt(absl::string_view bytes) {
  typename Address::bytes_type address;
  std::memcpy(address.data(), bytes.data() + kFixed2, address.size());
  return Address(address);
}

// Reads version 2: fixed bytes, addresses and TLVs.
ProxyHeader ReadBinary(absl::string_view bytes) {
  const auto at = [&bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() > 12 && (at(12) >> 4 != 2 || (at(12) & 15) > kProxy)) return Malformed();
  if (bytes.size() > 13 &&
      (at(13) >> 4 >= static_cast<int>(std::size(kAddressBytes)) || (at(13) & 15) > kLastProtocol)) {
    return Malformed();
  }
  if (bytes.size() < kFixed2) return More(kFixed2 - bytes.size());
  const size_t rest = size_t{at(14)} << 8 | at(15);
  const size_t size = kFixed2 + rest;
  const int command = at(12) & 15;
  const int family = at(13) >> 4;
  if (size > kMaxProxyHeaderBytes || (command != kLocal && rest < kAddressBytes[family])) return Malformed();
  if (bytes.size() < size) return More(size - bytes.size());
  ProxyHeader done{State::kDone, size, std::nullopt};
  if (command == kLocal || (at(13) & 15) != kStream) return done;
  if (family == kInet) done.client = AddressAt<ip::address_v4>(bytes);
  if (family == kInet6) done.client = AddressAt<ip::address_v6>(bytes);
  return done;
}

}  // namespace

ProxyHeader ReadProxyHeader(absl::string_view bytes) {
  if (bytes.empty()) return More(kShortest1.size());
  if (absl::StartsWith(bytes, kBeginning1)) return ReadText(bytes);
  if (absl::StartsWith(bytes, kBeginning2)) return ReadBinary(bytes);
  if (absl::StartsWith(kBeginning1, bytes)) return More(kShortest1.size() - bytes.size());
  if (absl::StartsWith(kBeginning2, bytes)) return More(kFixed2 - bytes.size());
  return {State::kAbsent, 0, std::nullopt};
}

}  // namespace stampgate
