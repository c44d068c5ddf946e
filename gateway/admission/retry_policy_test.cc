#include "gateway/admission/retry_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

UpstreamOutcome Failure(Cause cause, bool body_sent, bool goes_on = false) {
  return TransportFailure{cause, body_sent, "", goes_on};
}

UpstreamOutcome Answer(int status, std::string body = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

std::string ErrorBody(const std::string& code) {
  return absl::StrCat(R"({"code":8,"message":"m","details":[{"serviceErrorCode":")", code, R"("}]})");
}

// Returns how often a request is sent in all if each attempt ends with this outcome.
int Attempts(const UpstreamOutcome& outcome, RequestKind kind) {
  int attempts = 1;
  while (CauseToRetry(outcome, kind, attempts).has_value()) ++attempts;
  return attempts;
}

struct Row {
  const char* name;
  UpstreamOutcome outcome;
  int query;
  int fixed_submit;
  int submit;
};

TEST(RetryPolicyTest, EachOutcomeHasItsNumberOfAttempts) {
  const std::vector<Row> rows = {
      {"connection refused", Failure(Cause::kUnreachable, false), 3, 2, 2},
      {"TLS failed", Failure(Cause::kTls, false), 3, 2, 2},
      {"reset after bytes", Failure(Cause::kBroken, true), 3, 2, 1},
      {"too slow after bytes", Failure(Cause::kTimeout, true), 3, 2, 1},
      {"429 with the code", Answer(429, ErrorBody("RATE_LIMIT_EXCEEDED")), 3, 2, 1},
      {"429 without a body", Answer(429), 3, 2, 1},
      {"the code with 503", Answer(503, ErrorBody("RATE_LIMIT_EXCEEDED")), 3, 2, 1},
      {"502", Answer(502), 3, 2, 1},
      {"503", Answer(503), 3, 2, 1},
      {"504", Answer(504), 3, 2, 1},
      {"509", Answer(509), 3, 2, 1},
      {"520", Answer(520), 3, 2, 1},
      {"521", Answer(521), 3, 2, 1},
      {"522", Answer(522), 3, 2, 1},
      {"523", Answer(523), 3, 2, 1},
      {"524", Answer(524), 3, 2, 1},
      {"525", Answer(525), 3, 2, 1},
      {"526", Answer(526), 3, 2, 1},
      {"527", Answer(527), 3, 2, 1},
      {"529", Answer(529), 3, 2, 1},
      {"530", Answer(530), 3, 2, 1},
      {"540", Answer(540), 3, 2, 1},
      {"598", Answer(598), 3, 2, 1},
      {"599", Answer(599), 3, 2, 1},
      {"520 with a page", Answer(520, "<html>"), 3, 2, 1},
      {"signing quota with 529", Answer(529, ErrorBody("SIGNING_QUOTA_EXCEEDED")), 1, 1, 1},
      {"505", Answer(505), 1, 1, 1},
      {"507", Answer(507), 1, 1, 1},
      {"511", Answer(511), 1, 1, 1},
      {"528", Answer(528), 1, 1, 1},
      {"500", Answer(500), 2, 1, 1},
      {"signing quota", Answer(429, ErrorBody("SIGNING_QUOTA_EXCEEDED")), 1, 1, 1},
      {"signing quota with 503", Answer(503, ErrorBody("SIGNING_QUOTA_EXCEEDED")), 1, 1, 1},
      {"operations disabled", Answer(429, ErrorBody("API_OPERATIONS_DISABLED")), 1, 1, 1},
      {"another quota", Answer(429, R"({"code":8,"message":"too many authenticators"})"), 1, 1, 1},
      {"200", Answer(200, "{}"), 1, 1, 1},
      {"200 with a page", Answer(200, "<html>"), 1, 1, 1},
      {"a redirect", Answer(307), 1, 1, 1},
      {"400", Answer(400), 1, 1, 1},
      {"401", Answer(401), 1, 1, 1},
      {"403", Answer(403), 1, 1, 1},
      {"404", Answer(404), 1, 1, 1},
      {"408", Answer(408), 1, 1, 1},
      {"501", Answer(501), 1, 1, 1},
      {"too large", Failure(Cause::kTooLarge, true), 1, 1, 1},
      {"no free connection", Failure(Cause::kNoSlot, false), 1, 1, 1},
      {"the caller has left", Failure(Cause::kCancelled, true), 1, 1, 1},
      {"the gateway stops", Failure(Cause::kShutdown, false), 1, 1, 1},
      {"detached", Failure(Cause::kTimeout, true, /*goes_on=*/true), 1, 1, 1},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Attempts(row.outcome, RequestKind::kQuery), row.query) << row.name;
    EXPECT_EQ(Attempts(row.outcome, RequestKind::kFixedSubmit), row.fixed_submit) << row.name;
    EXPECT_EQ(Attempts(row.outcome, RequestKind::kSubmit), row.submit) << row.name;
  }
}

TEST(RetryPolicyTest, TheDelayIsRandomAndDoubles) {
  const auto least = [] { return uint64_t{0}; };
  const auto most = [] { return UINT64_MAX; };
  EXPECT_EQ(RetryDelay(Answer(503), 1, least), absl::ZeroDuration());
  const std::vector<int> bounds_ms = {100, 200, 400, 800, 1600, 2000, 2000};
  for (size_t i = 0; i < bounds_ms.size(); ++i) {
    const absl::Duration delay = RetryDelay(Answer(503), static_cast<int>(i) + 1, most);
    EXPECT_LE(delay, absl::Milliseconds(bounds_ms[i]));
    EXPECT_GE(delay, absl::Milliseconds(bounds_ms[i] - 1));
  }
}

TEST(RetryPolicyTest, TheDelayIsAtLeastTheOneThatUpstreamStates) {
  HttpAnswer answer;
  answer.status = 429;
  answer.retry_after = absl::Seconds(3);
  EXPECT_EQ(RetryDelay(answer, 1, [] { return uint64_t{0}; }), absl::Seconds(3));
}

}  // namespace
}  // namespace stampgate
