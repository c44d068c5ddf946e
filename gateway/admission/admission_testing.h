// The fixture of the tests of Admission: calls in virtual time.
#ifndef STAMPGATE_GATEWAY_ADMISSION_ADMISSION_TESTING_H_
#define STAMPGATE_GATEWAY_ADMISSION_ADMISSION_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/admission/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/quota_blocks.h"

namespace stampgate {

// A call in a test, which gets its verdict at once or later.
struct TestCall {
  std::string caller;
  absl::Time begun;
  absl::Time ended = absl::InfiniteFuture();
  Admission::Ticket ticket = 0;
  std::optional<Admission::Verdict> verdict;

  bool is_admitted() const { return verdict.has_value() && !verdict->refused.has_value(); }
  bool is_refused() const { return verdict.has_value() && verdict->refused.has_value(); }
  bool waits() const { return !verdict.has_value(); }
};

class AdmissionTest : public ::testing::Test {
 protected:
  void Make(AdmissionOptions options) {
    options.now = [this] { return time_.now(); };
    options.run_after = [this](absl::Duration delay, VirtualTime::Task task) {
      time_.RunAfter(delay, std::move(task));
    };
    admission_ = Admission::Create(std::move(options), metrics_);
  }

  void MakeRates(std::vector<RateLimit> rates) {
    AdmissionOptions options;
    options.rates = std::move(rates);
    Make(std::move(options));
  }

  // A call whose request is sent as soon as it is admitted. Its permit lives until Release.
  std::shared_ptr<TestCall> Enter(AdmissionRequest request) {
    auto call = std::make_shared<TestCall>();
    call->caller = request.caller;
    call->begun = time_.now();
    std::optional<Admission::Verdict> verdict = admission_->Enter(
        request, call->ticket, [this, call](Admission::Verdict later) { End(*call, std::move(later)); });
    if (verdict.has_value()) End(*call, *std::move(verdict));
    return call;
  }

  std::shared_ptr<TestCall> Enter(absl::string_view caller = "a", CallClass call_class = CallClass::kQuery) {
    return Enter({.caller = caller, .call_class = call_class});
  }

  // Enters calls until one is not admitted at once, and returns this one.
  std::shared_ptr<TestCall> Fill(absl::string_view caller = "a") {
    while (true) {
      std::shared_ptr<TestCall> call = Enter(caller);
      if (!call->is_admitted()) return call;
      kept_.push_back(std::move(call));
    }
  }

  void End(TestCall& call, Admission::Verdict verdict) {
    EXPECT_TRUE(call.waits()) << "a second verdict";
    call.ended = time_.now();
    call.verdict = std::move(verdict);
    if (!call.verdict->refused.has_value()) {
      call.verdict->permit.Sent();
      if (on_sent_) on_sent_(call.verdict->permit);
      admitted_.push_back(call.caller);
      sent_.push_back(time_.now());
    }
  }

  // Uses this share of upstream's rate and of the rates of the organization "o" and the operation "/a" for a day.
  void SetShare(double share, std::unordered_map<std::string, double> weight_parts = {}) {
    auto shares = std::make_shared<HeldShares>();
    shares->until = time_.now() + absl::Hours(24);
    const auto of_rate = static_cast<Millionths>(share * static_cast<double>(kWhole));
    for (const char* rate : {"upstream", "organization/o", "operation/a", kReserveRate}) {
      shares->rates[rate] = {of_rate, weight_parts};
    }
    admission_->SetShares(std::move(shares), time_.now());
  }

  void MakeQuota() {
    AdmissionOptions options;
    options.rates = {{1000, absl::Hours(24)}};
    options.has_quotas = true;
    Make(std::move(options));
  }

  // Permits calls of the quotas of upstream until their number is `through`.
  void SetQuotas(int64_t through, absl::Time until = absl::InfiniteFuture()) {
    auto quotas = std::make_shared<HeldQuotas>();
    for (const absl::Duration window : {absl::Hours(1), absl::Hours(24)}) {
      HeldQuotas::Block& block = quotas->blocks[{"upstream", window}];
      block.through = through;
      block.until = until;
    }
    admission_->SetQuotas(std::move(quotas));
  }

  // The largest number of requests that were sent in any interval of this length.
  size_t MostIn(absl::Duration length) const {
    size_t most = 0;
    size_t first = 0;
    for (size_t last = 0; last < sent_.size(); ++last) {
      while (sent_[last] - sent_[first] >= length) ++first;
      most = std::max(most, last - first + 1);
    }
    return most;
  }

  VirtualTime time_;
  MetricRegistry registry_;
  AdmissionMetrics metrics_{registry_};
  std::shared_ptr<Admission> admission_;
  std::vector<std::string> admitted_;  // the callers, in the order of the admissions
  std::vector<absl::Time> sent_;
  std::function<void(Admission::Permit&)> on_sent_;
  std::vector<std::shared_ptr<TestCall>> kept_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_ADMISSION_TESTING_H_
