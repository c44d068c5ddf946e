#include "gateway/shares/rate_quotas.h"

#include <utility>

namespace stampgate {

RateQuotas::RateQuotas(std::unique_ptr<QuotaStore> store, RateQuotasOptions options)
    : end_{std::move(options), std::move(store), {}},
      held_(end_.blocks.held()),
      task_("rate-quotas", end_.options.interval, [this] { Refill(); }) {
  task_.Wake();
}

void RateQuotas::Refill() {
  const absl::Time time = now();
  const absl::Status status = end_.blocks.Refill(end_.options.demand(), *end_.store, time);
  held_.Set(end_.blocks.held());
  if (end_.options.observe) end_.options.observe(status);
}

}  // namespace stampgate
