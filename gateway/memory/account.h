// The memory that the clients of the gRPC port make the gateway hold.
#ifndef STAMPGATE_GATEWAY_MEMORY_ACCOUNT_H_
#define STAMPGATE_GATEWAY_MEMORY_ACCOUNT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "base/threads/mutex.h"

namespace stampgate {

// The bound that a client would exceed.
enum class MemoryBound { kConnection, kIdentity, kAll };

class MemoryHolder;

// The account of all connections, and its bounds. Thread-safe. A shared_ptr must own it.
//
// Each connection has a MemoryHolder. What it holds:
// - kConnectionBytes for the connection itself: its TLS session, and what gRPC uses for it;
// - what has arrived (MemoryHolder::SetReceived): kStreamBytes for each stream that is open or was reset recently, and
//   the bytes of its requests;
// - what calls have reserved (HeldBytes): parsed requests, rendered bodies, responses of upstream, filters, and
//   messages that the client has not received yet.
//
// What calls hold is reserved before, and a call that gets no memory ends with an error. What has arrived is counted
// afterwards, and if it exceeds a bound, a connection ends: the one that holds the most. Therefore reservations leave
// an eighth of each bound to what arrives, except while connections that have begun to end hold it.
//
// A caller alone may use the whole account. If several identities hold something, each has a share: what calls can
// reserve, divided by their number, but at least Limits::least_share. If the account is used up, an identity within its
// share still gets memory, and the identities that hold the most lose their largest connections. Reserve() names the
// two cases in which it gets none; no identity holds more than its share if so many have the least share.
class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  static constexpr int64_t kConnectionBytes = 65536;
  static constexpr int64_t kStreamBytes = 32768;
  // A call that holds at most so many bytes need not reserve them: kStreamBytes contains them.
  static constexpr size_t kSmallCallBytes = 8192;

  struct Limits {
    size_t max_connections_per_identity = 512;
    int64_t max_bytes_per_connection = int64_t{96} << 20;
    int64_t max_bytes_per_identity = int64_t{128} << 20;
    int64_t max_bytes = int64_t{192} << 20;
    // No share is smaller, so that a client can always make one large call.
    int64_t least_share = int64_t{16} << 20;
  };

  explicit MemoryAccount(const Limits& limits);

  // Opens the part of a connection of `identity`. Returns null if the identity has its most connections. `on_excess` is
  // called at most once, with the bound because of which the connection must end, on any thread, with locks held; it
  // must not block.
  std::shared_ptr<MemoryHolder> Open(const std::string& identity, absl::AnyInvocable<void(MemoryBound)> on_excess);

  // The bounds. One that is not less than the next wider one is none of its own, and has the largest value.
  const Limits& limits() const { return limits_; }
  int64_t bytes() const { return bytes_; }

 private:
  friend class MemoryHolder;

  struct Identity {
    std::string name;
    size_t connections = 0;  // guarded by mutex_
    size_t holders = 0;      // guarded by mutex_
    std::atomic<int64_t> bytes = 0;
  };

  // The part of what calls can reserve that is an identity's when all is used.
  int64_t Share() const;
  // Whether `identity` may keep what it has just added, although the account is used up.
  bool MakesRoomFor(const Identity& identity);

  struct Largest {
    MemoryHolder* holder = nullptr;
    int64_t bytes_of_identity = 0;  // of its connections that have not begun to end
  };
  // Returns the connection that holds the most, of those that have not begun to end, if they hold more than `limit`:
  // the largest one of `identity` or, if it is null, of the identity that holds the most.
  std::optional<Largest> FindLargest(const Identity* identity, int64_t limit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the connection that FindLargest returns, because of `bound`: calls its `on_excess`, unless it is `asking`.
  // Returns whether it is `asking`, which then ends itself.
  bool EndLargest(const MemoryHolder* asking, const Identity* identity, int64_t limit, MemoryBound bound)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<int64_t> identity_count_ = 0;  // the size of identities_
  mutable Mutex mutex_;
  std::list<MemoryHolder*> open_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<Identity>> identities_ ABSL_GUARDED_BY(mutex_);
};

// What one connection holds. Thread-safe, except for SetReceived. It can outlive the connection, because calls can: the
// bytes that they hold then count for the identity and in all.
class MemoryHolder {
 public:
  ~MemoryHolder();
  MemoryHolder(const MemoryHolder&) = delete;
  MemoryHolder& operator=(const MemoryHolder&) = delete;

  // Sets what has arrived on the connection and is still held.
  void SetReceived(size_t streams, size_t bytes_of_streams);

  // Returns the bound that the connection exceeds. If the connections of the identity, or all connections, exceed their
  // bound together, one of them must end: if it is another one, calls its on_excess.
  std::optional<MemoryBound> Check();

  // Adds `bytes`. If more than seven eighths of a bound would be used, adds nothing, and returns the bound. An identity
  // within its share gets memory up to an eighth above the bound of all: it is refused only while connections that have
  // begun to end still hold so much, or if no identity holds more than its share.
  std::optional<MemoryBound> Reserve(int64_t bytes);

  // Subtracts `bytes`, which were reserved.
  void Release(int64_t bytes) { Add(-bytes); }

  // Must be called when the connection begins to end. Other connections do not end because of what it still holds, but
  // they must pause if it is much.
  void BeginToEnd();

  // Must be called once when the connection has ended.
  void Close();

  // Whether the connection must not read for a moment, because connections that have begun to end still hold memory:
  // its identity, or all connections, hold more than their bound. An identity within its share pauses only if all hold
  // an eighth more: identities above their shares, which have paused then, cannot keep memory from it.
  bool MustPause() const;

  const MemoryAccount::Limits& limits() const { return account_->limits(); }

 private:
  friend class MemoryAccount;

  MemoryHolder(std::shared_ptr<MemoryAccount> account, std::shared_ptr<MemoryAccount::Identity> identity,
               absl::AnyInvocable<void(MemoryBound)> on_excess);

  void Add(int64_t bytes);
  // What all may hold, while connections that have begun to end still hold memory, before this identity must wait.
  int64_t BoundOfAll() const;

  const std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<MemoryAccount::Identity> identity_;
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<int64_t> received_ = 0;                // the part of bytes_ that SetReceived has set
  bool ends_ = false;                                // guarded by MemoryAccount::mutex_
  absl::AnyInvocable<void(MemoryBound)> on_excess_;  // guarded by MemoryAccount::mutex_
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_MEMORY_ACCOUNT_H_
