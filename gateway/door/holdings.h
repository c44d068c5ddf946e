// The memory that the clients of the gRPC port make the gateway hold for calls that are not finished.
#ifndef STAMPGATE_GATEWAY_DOOR_HOLDINGS_H_
#define STAMPGATE_GATEWAY_DOOR_HOLDINGS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "gateway/door/excess.h"

namespace stampgate {

// The sum for all connections, and the bounds. Thread-safe.
//
// A connection that has begun to end still holds memory, until gRPC has closed it. Other connections do not end because
// of this memory, but they must pause if there is much of it.
//
// What a connection holds: kStreamBytes for each stream that is open or was reset recently, which is about the memory
// that gRPC uses for a stream, and the bytes that have arrived on the open streams. gRPC holds at most these bytes,
// because it receives only one message in most calls. A frame that the gateway itself adds to those of gRPC, and that
// the client has not accepted yet, counts as a stream.
class Holdings : public std::enable_shared_from_this<Holdings> {
 public:
  static constexpr int64_t kStreamBytes = 24576;

  struct Limits {
    size_t max_connections_per_identity = 512;
    int64_t max_bytes_per_connection = 32 << 20;
    int64_t max_bytes_per_identity = 64 << 20;
    int64_t max_bytes = 128 << 20;
  };

  // What one connection holds. Thread-safe, except for Set.
  class Account {
   public:
    using OnExcess = absl::AnyInvocable<void(Excess)>;

    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

    // Sets what the connection holds.
    void Set(size_t streams, size_t bytes_of_streams);

    // Returns the bound that the connection exceeds. If the connections of the identity, or all connections, exceed
    // their bound together, the one that holds the most must end: if it is another connection, calls its on_excess.
    std::optional<Excess> Check();

    // Must be called when the connection begins to end.
    void TakeOut();

    // Whether the connection must not read for a moment: its identity, or all connections, hold one and a half times
    // their bound, because of connections that have begun to end.
    bool MustPause() const;

   private:
    friend class Holdings;
    struct Identity {
      std::string name;
      size_t connections = 0;  // guarded by Holdings::mutex_
      std::atomic<int64_t> bytes = 0;
    };

    Account(std::shared_ptr<Holdings> all, std::shared_ptr<Identity> identity, OnExcess on_excess);

    const std::shared_ptr<Holdings> all_;
    const std::shared_ptr<Identity> identity_;
    std::atomic<int64_t> bytes_ = 0;
    bool is_taken_out_ = false;  // guarded by Holdings::mutex_
    OnExcess on_excess_;         // guarded by Holdings::mutex_
  };

  explicit Holdings(const Limits& limits) : limits_(limits) {}

  // Opens the account of a connection of `identity`. Returns null if the identity has its most connections. `on_excess`
  // is called at most once, on any thread, with locks held; it must not block.
  std::shared_ptr<Account> Open(const std::string& identity, Account::OnExcess on_excess);

  // Must be called once for each account, when the connection has ended.
  void Close(Account& account);

  int64_t bytes() const { return bytes_; }

 private:
  // If the connections of `identity` (of all identities if it is null) that have not begun to end hold more than
  // `limit`, takes the largest of them out, and returns whether it is `account`.
  bool TakeOutLargest(const Account& account, const Account::Identity* identity, int64_t limit, Excess excess);

  const Limits limits_;
  std::atomic<int64_t> bytes_ = 0;
  std::mutex mutex_;
  std::list<Account*> open_;
  absl::flat_hash_map<std::string, std::shared_ptr<Account::Identity>> identities_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DOOR_HOLDINGS_H_
