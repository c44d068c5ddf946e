#include "gateway/shares/rate_shares.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

namespace stampgate {
namespace {

// The interval before an urgent renewal, and the shortest one between renewals that take long.
constexpr absl::Duration kSoon = absl::Milliseconds(10);

std::string RandomId() {
  std::string id(16, '\0');
  randombytes_buf(id.data(), id.size());
  return id;
}

}  // namespace

RateShares::RateShares(std::unique_ptr<ShareStore> store, RateSharesOptions options)
    : options_(std::move(options)),
      store_(store.release(), Release{RandomId()}),
      replica_(store_.get_deleter().replica),
      held_(replica_.held()),
      end_task_("shares-end", absl::Seconds(1), [this] { AwaitEnd(); }),
      task_("rate-shares", Replica::kInterval, [this] { Renew(); }) {
  Apply();
  task_.Wake();
}

void RateShares::Release::operator()(ShareStore* store) const {
  store->Release(replica).IgnoreError();
  delete store;
}

void RateShares::Apply() {
  const MutexLock lock(applying_);
  options_.apply(held_.Get(), now());
}

// Runs when the shares end if no renewal has succeeded until then, because the thread of the renewals can be waiting
// for the store. Then also once a second, for HeldShares::kAbsence.
void RateShares::AwaitEnd() {
  Apply();
  const absl::Duration left = held_.Get()->until - now();
  if (left > absl::ZeroDuration()) end_task_.RunAgainIn(left);
}

void RateShares::Renew() {
  const absl::Time sent = now();
  const ShareRenewal renewal = replica_.Begin(options_.demand(), sent);
  // Before the store can give another replica what this one no longer uses.
  held_.Set(replica_.held());
  Apply();
  const absl::StatusOr<ShareAnswer> answer = store_->Renew(renewal);
  const absl::Time received = now();
  replica_.End(renewal, answer, sent, received);
  held_.Set(replica_.held());
  Apply();
  has_reached_store_ = has_reached_store_ || answer.ok();
  if (options_.observe) {
    options_.observe({.last = answer.status(),
                      .uses_fallback = !replica_.held()->InForce(received),
                      .replicas = has_reached_store_ ? replica_.held()->replicas : 0});
  }
  const absl::Duration rest = replica_.IsUrgent() ? kSoon : sent + Replica::kInterval - received;
  task_.RunAgainIn(std::max(rest, kSoon));
}

}  // namespace stampgate
