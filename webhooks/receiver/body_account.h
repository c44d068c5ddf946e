// The memory of the deliveries that are being received, or that have been received and not yet answered.
//
// Memory is reserved before it is allocated, as the bytes arrive: the length that a sender declares reserves nothing. A
// body arrives in pieces of one size, because strings that grow would leave gaps in the heap that the account cannot
// see. If there is not enough memory, the account ends unfinished deliveries by the rule of fair_share.h, and frees
// their bodies at once, on any thread. Of the unfinished deliveries of one source, the one that has held the most
// memory for the longest time ends first: the product of its bytes and its age is the greatest. So small deliveries
// that arrive fast are hardly ever ended, even if an attacker shares their source.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_BODY_ACCOUNT_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_BODY_ACCOUNT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "webhooks/receiver/proven_sources.h"

namespace stampgate {

class HeldBody;

// Thread-safe.
class BodyAccount : public std::enable_shared_from_this<BodyAccount> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // What a delivery counts besides its body, for a request head of this size: the head is held as received, and as
  // fields.
  static constexpr size_t CostOfHead(size_t head_bytes) { return (4 << 10) + 3 * head_bytes; }

  // The size of a piece. The first one has kFirstPieceBytes, which suffice for most deliveries.
  static constexpr size_t kPieceBytes = 64 << 10;
  static constexpr size_t kFirstPieceBytes = 16 << 10;

  // The account has `max_bytes`. Deliveries from proven sources leave a quarter of it to others, and the others leave a
  // quarter to proven sources.
  BodyAccount(size_t max_bytes, std::shared_ptr<const ProvenSources> sources);

  // Reserves CostOfHead(head_bytes) for a delivery from `source`. Returns null if there is not enough memory. Calls
  // `on_ended` at most once if the account ends the delivery, on any thread, even after the HeldBody was destroyed;
  // it must not block.
  std::shared_ptr<HeldBody> Begin(absl::string_view source, size_t head_bytes, Time now,
                                  absl::AnyInvocable<void()> on_ended);

  // Returns how much is reserved now. It never exceeds `max_bytes`.
  size_t held_bytes() const;

 private:
  friend class HeldBody;

  // The deliveries of one source.
  struct Source {
    size_t deliveries = 0;
    size_t finished_bytes = 0;
  };
  using Ended = std::vector<std::shared_ptr<HeldBody>>;

  // Reserves `bytes` more for `held`, or returns false. Adds the deliveries that it ends to `ended`.
  bool Reserve(HeldBody& held, size_t bytes, Time now, Ended& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns which delivery must end so that `asker` can have `bytes` more: null if none may.
  HeldBody* GiverFor(HeldBody& asker, size_t bytes, Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(HeldBody& held, Ended& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(HeldBody& held, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  const size_t kept_bytes_;
  const std::shared_ptr<const ProvenSources> sources_;
  mutable Mutex mutex_;
  absl::flat_hash_set<HeldBody*> deliveries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Source> by_source_ ABSL_GUARDED_BY(mutex_);
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t finished_bytes_ ABSL_GUARDED_BY(mutex_) = 0;           // of all finished deliveries
  size_t unproven_finished_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of those from sources that were not proven
};

// The memory of one delivery. Returns it to the account when it is destroyed. One thread at a time may use a HeldBody,
// but the account may end it meanwhile.
class HeldBody : public std::enable_shared_from_this<HeldBody> {
 public:
  using Time = BodyAccount::Time;

  ~HeldBody();
  HeldBody(const HeldBody&) = delete;
  HeldBody& operator=(const HeldBody&) = delete;

  // Makes room for `bytes` more bytes of the body, whose whole size will not exceed `most_bytes`. Returns false if
  // there is not enough memory, or if the account has ended the delivery.
  bool Grow(size_t bytes, size_t most_bytes, Time now);

  // Calls `read` with the last piece of the body. `read` may append as many bytes as there is room for, and must not
  // use the account. Returns false without the call if the account has ended the delivery.
  bool Read(absl::FunctionRef<void(std::string& piece)> read);

  // The body is complete: joins and returns it, for which a body of several pieces needs as much memory again. After
  // that, only the joined body is reserved, until the HeldBody is destroyed, and the account no longer ends the
  // delivery. Such deliveries wait for a key or for the event log. Those of one source can have at most an equal share
  // of the account, as if there were one source more, or a quarter of the account if the source is proven and this is
  // more. Those of all sources that are not proven can have three quarters. A single delivery can have more. Returns
  // nothing if the limit is reached, if there is not enough memory, or if the account has ended the delivery.
  std::optional<std::string> Finish(Time now);

 private:
  friend class BodyAccount;

  enum class State { kReceiving, kFinished, kEnded };

  HeldBody(std::shared_ptr<BodyAccount> account, absl::string_view source, size_t head_bytes, Time begun,
           absl::AnyInvocable<void()> on_ended);

  // States for the compiler that the account that uses this object, and holds its own lock, is `account_`.
  void AssertLocked() const ABSL_ASSERT_EXCLUSIVE_LOCK(account_->mutex_) {}

  // Returns whether the delivery is finished. The body must then be joined.
  bool FinishLocked(bool is_proven, Time now, BodyAccount::Ended& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(account_->mutex_);

  const std::shared_ptr<BodyAccount> account_;
  const std::string source_;
  const Time begun_;

  absl::AnyInvocable<void()> on_ended_;  // called by the thread that has ended the delivery, with no lock held
  State state_ ABSL_GUARDED_BY(account_->mutex_) = State::kReceiving;
  size_t held_bytes_ ABSL_GUARDED_BY(account_->mutex_) = 0;
  size_t finished_bytes_ ABSL_GUARDED_BY(account_->mutex_) = 0;  // what counts in BodyAccount::Source::finished_bytes
  // Whether the source was proven when the delivery was finished.
  bool was_proven_ ABSL_GUARDED_BY(account_->mutex_) = false;

  // Used only by the user of this object.
  const size_t head_bytes_;  // CostOfHead
  size_t size_ = 0;          // of all pieces
  size_t room_ = 0;          // how many bytes more the last piece can have

  // Locked after the mutex of the account, or alone. Lets the account free the body while another thread reads it.
  Mutex mutex_;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> pieces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_BODY_ACCOUNT_H_
