#include "webhooks/receiver/body_account.h"

#include <algorithm>
#include <utility>

#include "webhooks/receiver/fair_share.h"

namespace stampgate {
BodyAccount::BodyAccount(size_t max_bytes, std::shared_ptr<const ProvenSources> sources)
    : max_bytes_(max_bytes), kept_bytes_(max_bytes / 4), sources_(std::move(sources)) {}

std::shared_ptr<HeldBody> BodyAccount::Begin(absl::string_view source, size_t head_bytes, Time now,
                                             absl::AnyInvocable<void()> on_ended) {
  Ended ended;
  std::shared_ptr<HeldBody> held(
      new HeldBody(shared_from_this(), source, CostOfHead(head_bytes), now, std::move(on_ended)));
  bool is_reserved = false;
  {
    const MutexLock lock(mutex_);
    deliveries_.insert(held.get());
    ++by_source_[held->source_].deliveries;
    is_reserved = Reserve(*held, held->head_bytes_, now, ended);
  }
  for (const std::shared_ptr<HeldBody>& each : ended) each->on_ended_();
  return is_reserved ? held : nullptr;
}

size_t BodyAccount::held_bytes() const {
  const MutexLock lock(mutex_);
  return held_bytes_;
}

bool BodyAccount::Reserve(HeldBody& held, size_t bytes, Time now, Ended& ended) {
  held.AssertLocked();
  if (held.state_ != HeldBody::State::kReceiving) return false;
  if (bytes > max_bytes_ - finished_bytes_) return false;
  while (bytes > max_bytes_ - held_bytes_) {
    HeldBody* giver = GiverFor(held, bytes, now);
    if (giver == nullptr || giver == &held) return false;
    End(*giver, ended);
  }
  held_bytes_ += bytes;
  held.held_bytes_ += bytes;
  return true;
}

HeldBody* BodyAccount::GiverFor(HeldBody& asker, size_t bytes, Time now) const {
  std::vector<HeldBody*> deliveries(deliveries_.begin(), deliveries_.end());
  std::vector<Stake> stakes;
  stakes.reserve(deliveries.size());
  for (HeldBody* each : deliveries) {
    each->AssertLocked();
    const size_t amount = each->held_bytes_ + (each == &asker ? bytes : 0);
    const double age = std::chrono::duration<double>(now - each->begun_).count();
    stakes.push_back({.source = each->source_,
                      .standing = StandingOf(sources_->Has(each->source_, now), /*knows_path=*/true),
                      .amount = amount,
                      .weight = static_cast<double>(amount) * age,
                      .can_give = each->state_ == HeldBody::State::kReceiving});
  }
  const std::optional<size_t> giver = GiverOf(stakes, kept_bytes_);
  return giver.has_value() ? deliveries[*giver] : nullptr;
}

void BodyAccount::End(HeldBody& held, Ended& ended) {
  held.AssertLocked();
  Return(held, held.held_bytes_);
  held.state_ = HeldBody::State::kEnded;
  const MutexLock lock(held.mutex_);
  held.has_ended_ = true;
  std::vector<std::string>().swap(held.pieces_);
  // Nothing if the destructor of the HeldBody waits for the mutex; then nobody needs to know.
  if (std::shared_ptr<HeldBody> kept = held.weak_from_this().lock(); kept != nullptr) ended.push_back(std::move(kept));
}

void BodyAccount::Return(HeldBody& held, size_t bytes) {
  held.AssertLocked();
  held_bytes_ -= bytes;
  held.held_bytes_ -= bytes;
}

HeldBody::HeldBody(std::shared_ptr<BodyAccount> account, absl::string_view source, size_t head_bytes, Time begun,
                   absl::AnyInvocable<void()> on_ended)
    : account_(std::move(account)),
      source_(source),
      begun_(begun),
      on_ended_(std::move(on_ended)),
      head_bytes_(head_bytes),
      pieces_(1) {}

HeldBody::~HeldBody() {
  {
    // The account may be about to end the delivery. Frees the pieces before their memory is returned.
    const MutexLock lock(mutex_);
    std::vector<std::string>().swap(pieces_);
  }
  const MutexLock lock(account_->mutex_);
  const auto source = account_->by_source_.find(source_);
  source->second.finished_bytes -= finished_bytes_;
  account_->finished_bytes_ -= finished_bytes_;
  if (!was_proven_) account_->unproven_finished_bytes_ -= finished_bytes_;
  account_->Return(*this, held_bytes_);
  if (--source->second.deliveries == 0) account_->by_source_.erase(source);
  account_->deliveries_.erase(this);
}

bool HeldBody::Grow(size_t bytes, size_t most_bytes, Time now) {
  const size_t left = most_bytes - std::min(size_, most_bytes);
  const size_t needed = std::min(bytes, left);
  if (needed <= room_) {
    const MutexLock lock(mutex_);
    return !has_ended_;
  }
  const size_t usual = size_ == 0 ? BodyAccount::kFirstPieceBytes : BodyAccount::kPieceBytes;
  const size_t piece = std::max(needed, std::min(usual, left));
  BodyAccount::Ended ended;
  bool is_reserved = false;
  {
    const MutexLock lock(account_->mutex_);
    is_reserved = account_->Reserve(*this, piece, now, ended);
  }
  for (const std::shared_ptr<HeldBody>& each : ended) each->on_ended_();
  if (!is_reserved) return false;
  const MutexLock lock(mutex_);
  if (has_ended_) return false;
  if (size_ > 0) pieces_.emplace_back();
  pieces_.back().reserve(piece);
  room_ = piece;
  return true;
}

bool HeldBody::Read(absl::FunctionRef<void(std::string& piece)> read) {
  const MutexLock lock(mutex_);
  if (has_ended_) return false;
  const size_t before = pieces_.back().size();
  read(pieces_.back());
  const size_t count = pieces_.back().size() - before;
  size_ += count;
  room_ -= std::min(count, room_);
  return true;
}

std::optional<std::string> HeldBody::Finish(Time now) {
  const bool is_proven = account_->sources_->Has(source_, now);
  BodyAccount::Ended ended;
  bool is_finished = false;
  {
    const MutexLock lock(account_->mutex_);
    is_finished = FinishLocked(is_proven, now, ended);
  }
  for (const std::shared_ptr<HeldBody>& each : ended) each->on_ended_();
  if (!is_finished) return std::nullopt;
  std::string body;
  {
    const MutexLock lock(mutex_);  // nobody waits for it: now the account leaves the pieces alone
    if (pieces_.size() == 1) return std::move(pieces_[0]);
    body.reserve(size_);
    for (std::string& piece : pieces_) {
      body.append(piece);
      std::string().swap(piece);
    }
  }
  const MutexLock lock(account_->mutex_);
  account_->Return(*this, held_bytes_ - finished_bytes_);
  return body;
}

bool HeldBody::FinishLocked(bool is_proven, Time now, BodyAccount::Ended& ended) {
  if (state_ != State::kReceiving) return false;
  bool is_joined;
  {
    const MutexLock lock(mutex_);
    is_joined = pieces_.size() > 1;
  }
  const size_t bytes = is_joined ? head_bytes_ + size_ : held_bytes_;
  size_t& of_source = account_->by_source_.find(source_)->second.finished_bytes;
  const size_t equal_share = account_->max_bytes_ / (account_->by_source_.size() + 1);
  const size_t share = is_proven ? std::max(equal_share, account_->kept_bytes_) : equal_share;
  if (of_source > 0 && of_source + bytes > share) return false;
  size_t& of_unproven = account_->unproven_finished_bytes_;
  if (!is_proven && of_unproven > 0 && of_unproven + bytes > account_->max_bytes_ - account_->kept_bytes_) return false;
  if (is_joined && !account_->Reserve(*this, size_, now, ended)) return false;
  state_ = State::kFinished;
  was_proven_ = is_proven;
  finished_bytes_ = bytes;
  of_source += bytes;
  account_->finished_bytes_ += bytes;
  if (!is_proven) of_unproven += bytes;
  return true;
}

}  // namespace stampgate
