// The identities of the connected peers, by which a call finds the identity of its caller.
//
// gRPC gives a call only the address of its connection as a text. The gateway accepts connections itself, and gives
// each connection a unique path as its address.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_REGISTRY_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_REGISTRY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "gateway/callers/peer.h"
#include "gateway/memory/account.h"

namespace stampgate {

// An entry of the registry, which is one for the whole process and thread-safe. After the destructor, the registry
// still keeps the entry until kKept further connections have ended: a call can outlive its connection, and the audit
// log must name its caller all the same.
class RegisteredPeer {
 public:
  static constexpr size_t kKept = 4096;

  // `holder` is the memory that the connection holds.
  explicit RegisteredPeer(Peer peer, std::weak_ptr<MemoryHolder> holder = {});
  RegisteredPeer(RegisteredPeer&& other) noexcept;
  RegisteredPeer& operator=(RegisteredPeer&&) = delete;
  ~RegisteredPeer();

  // The number of the connection. No two connections of the process have the same number.
  uint64_t id() const { return id_; }

  // The address of the connection, such as "/connection/7".
  std::string path() const;

 private:
  uint64_t id_;
};

// Returns the number of the connection from a call's address, such as "unix:/connection/7", or with Debian 12's gRPC
// "unix-abstract:stampgate-8a5c/connection/7".
std::optional<uint64_t> ConnectionIdOf(absl::string_view address);

// Returns the registered peer; a stranger if the number is not registered.
Peer FindPeer(uint64_t id);

// Returns what the connection holds; null if the number is not registered, or if the connection and its calls have
// ended.
std::shared_ptr<MemoryHolder> FindHolder(uint64_t id);

enum class ConnectionState {
  kOpen,
  kEndedByPeer,  // the peer has closed its end, or the connection broke
  kClosed,       // the gateway has closed it while it was open
};

// Reports that the peer has ended the connection, or that it broke. Must be called before gRPC learns this, so that a
// call that ends because of it finds this state.
void ReportEndByPeer(uint64_t id);

// Returns how the connection is, or how it has ended. The registry forgets this at the same time as the peer; it is
// then kClosed.
ConnectionState StateOfConnection(uint64_t id);

// Returns when the peer was registered, which is when its connection began; nothing if the number is not registered.
std::optional<std::chrono::steady_clock::time_point> BeginOfConnection(uint64_t id);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_REGISTRY_H_
