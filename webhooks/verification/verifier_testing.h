// Helpers for the verifier's tests.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_TESTING_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_TESTING_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "webhooks/verification/testing.h"
#include "webhooks/verification/verifier.h"

namespace stampgate {

inline const absl::Time kNow = absl::FromUnixMillis(1'700'000'000'000);

inline std::string OutcomeOf(const Verdict& verdict) {
  if (std::holds_alternative<VerifiedEvent>(verdict)) return "OK";
  const auto& rejection = std::get<Rejection>(verdict);
  return absl::StrCat(Name(rejection.reason), rejection.header.empty() ? "" : " ", rejection.header);
}

// A verifier with a clock and a key set that the test controls.
class Inbox {
 public:
  explicit Inbox(std::string key_set, const std::string& operator_name = "Service", absl::Time now = kNow)
      : key_set_(std::move(key_set)), now_(now) {
    KeySetCache::Options cache_options;
    cache_options.operator_name = operator_name;
    cache_options.now = [this] { return now_; };
    keys_ = std::make_unique<KeySetCache>(std::move(cache_options), [this](auto on_answer) {
      ++fetches_;
      if (is_slow_) {
        pending_.push_back(std::move(on_answer));
      } else {
        on_answer(KeySetAnswer{key_set_, "", absl::ZeroDuration()});
      }
    });
    Verifier::Options options;
    options.operator_name = operator_name;
    options.now = [this] { return now_; };
    verifier_ = std::make_unique<Verifier>(std::move(options), *keys_);
  }

  absl::Time& now() { return now_; }
  int fetches() const { return fetches_; }
  void set_key_set(std::string key_set) { key_set_ = std::move(key_set); }

  // Makes each later fetch wait until EndFetches.
  void SlowDown() { is_slow_ = true; }
  void EndFetches() {
    for (auto& on_answer : std::exchange(pending_, {})) {
      on_answer(KeySetAnswer{key_set_, "", absl::ZeroDuration()});
    }
  }

  // Starts a verification. Returns a reference to the verdict, which is empty until the verification ends. The
  // reference is valid as long as the inbox exists.
  const std::optional<Verdict>& Start(Delivery delivery) {
    std::optional<Verdict>& verdict = verdicts_.emplace_back();
    verifier_->Verify(std::move(delivery), [&verdict](Verdict given) {
      EXPECT_FALSE(verdict.has_value()) << "two verdicts";
      verdict = std::move(given);
    });
    return verdict;
  }

  Verdict Verify(Delivery delivery) {
    std::optional<Verdict> verdict;
    verifier_->Verify(std::move(delivery), [&verdict](Verdict given) {
      EXPECT_FALSE(verdict.has_value()) << "two verdicts";
      verdict = std::move(given);
    });
    EXPECT_TRUE(verdict.has_value()) << "no verdict";
    return *std::move(verdict);
  }

  std::string Outcome(Delivery delivery) { return OutcomeOf(Verify(std::move(delivery))); }

 private:
  std::string key_set_;
  absl::Time now_;
  int fetches_ = 0;
  bool is_slow_ = false;
  std::vector<absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>> pending_;
  std::deque<std::optional<Verdict>> verdicts_;
  std::unique_ptr<KeySetCache> keys_;
  std::unique_ptr<Verifier> verifier_;
};

inline std::string& Header(Delivery& delivery, absl::string_view name) {
  for (HeaderField& header : delivery.headers) {
    if (absl::EqualsIgnoreCase(header.name, absl::StrCat("X-Service-", name))) return header.value;
  }
  return delivery.headers.emplace_back(HeaderField{absl::StrCat("X-Service-", name), ""}).value;
}

inline std::array<uint8_t, 32> SeedOf(uint8_t fill) {
  std::array<uint8_t, 32> seed;
  seed.fill(fill);
  return seed;
}

inline std::string TwoKeys(const TestSender& a, const TestSender& b) {
  return absl::StrCat(R"({"keys":[)", a.Key(), ",", b.Key(), "]}");
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_TESTING_H_
