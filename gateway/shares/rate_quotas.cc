#include "gateway/shares/rate_quotas.h"

#include <utility>

namespace stampgate {

RateQuotas::RateQuotas(std::unique_ptr<QuotaStore> store, RateQuotasOptions options)
    : end_{std::move(options), std::move(store), {}},
      task_("rate-quotas", end_.options.interval, [this] { Refill(); }) {
  task_.Wake();
}

void RateQuotas::Refill() {
  const absl::Time now = end_.options.now();
  wait_.Begin();
  const absl::Status status = end_.blocks.Refill(end_.options.demand(), *end_.store, now);
  wait_.End();
  end_.options.apply(end_.blocks.held());
  if (end_.options.observe) end_.options.observe(status);
}

}  // namespace stampgate
