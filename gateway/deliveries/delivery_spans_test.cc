#include "gateway/deliveries/delivery_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "gateway/telemetry/traced_call.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

const Tracer::SteadyTime kBegun{std::chrono::hours(1)};

class DeliverySpansTest : public testing::Test {
 protected:
  Tracer::Options Options(double ratio) {
    Tracer::Options options;
    options.sampling_ratio = ratio;
    options.max_queued = 4;
    options.random = [this] { return ++random_; };
    options.now = [] { return absl::FromUnixSeconds(1000); };
    options.steady_now = [] { return kBegun + milliseconds(9); };
    options.on_drop = [] {};
    return options;
  }

  static Intake::Report Stored() {
    Intake::Report report{.http_status = 200, .outcome = "stored", .header = "", .event_id = "evt_1"};
    report.times = {kBegun, kBegun + milliseconds(2), kBegun + milliseconds(9)};
    return report;
  }

  // Returns the traced delivery of `report`, or null if it is not traced.
  std::unique_ptr<const TracedCall> Trace(const Intake::Report& report, double ratio = 1) {
    Tracer tracer(Options(ratio));
    DeliverySpans(tracer, /*has_tls=*/true).Add(report);
    auto taken = tracer.Take(10);
    return taken.empty() ? nullptr : std::move(taken.front());
  }

  uint64_t random_ = 0;
};

TEST_F(DeliverySpansTest, AStoredDeliveryHasTheStepsVerifyAndStore) {
  const auto traced = Trace(Stored());
  ASSERT_NE(traced, nullptr);
  EXPECT_EQ(traced->begun, absl::FromUnixSeconds(1000) - absl::Milliseconds(9));
  EXPECT_EQ(traced->replied, absl::Milliseconds(9));
  EXPECT_EQ(traced->ended, absl::Milliseconds(9));
  ASSERT_THAT(traced->steps, SizeIs(2));
  EXPECT_EQ(traced->steps[0].step, CallStage::kVerify);
  EXPECT_EQ(traced->steps[0].begun, absl::ZeroDuration());
  EXPECT_EQ(traced->steps[1].step, CallStage::kStore);
  EXPECT_EQ(traced->steps[1].begun, absl::Milliseconds(2));
  ASSERT_TRUE(traced->delivery.has_value());
  EXPECT_TRUE(traced->delivery->has_tls);
  EXPECT_EQ(traced->delivery->http_status, 200);
  EXPECT_EQ(traced->delivery->outcome, "stored");
}

TEST_F(DeliverySpansTest, ADeliveryIsATraceOfItsOwn) {
  const auto one = Trace(Stored());
  const auto other = Trace(Stored());
  EXPECT_THAT(one->trace_id, SizeIs(32));
  EXPECT_NE(one->trace_id, other->trace_id);
  EXPECT_EQ(one->parent_id, 0u);
  EXPECT_NE(one->span_id, one->steps[0].span_id);
  EXPECT_NE(one->steps[0].span_id, one->steps[1].span_id);
}

TEST_F(DeliverySpansTest, ARejectedDeliveryEndsWithItsVerification) {
  Intake::Report report = Stored();
  report.times->stored.reset();
  report.http_status = 401;
  report.outcome = "invalid_signature";
  const auto traced = Trace(report);
  ASSERT_NE(traced, nullptr);
  EXPECT_THAT(traced->steps, SizeIs(1));
  EXPECT_EQ(traced->ended, absl::Milliseconds(2));
  EXPECT_EQ(traced->delivery->http_status, 401);
  EXPECT_EQ(traced->delivery->outcome, "invalid_signature");
}

TEST_F(DeliverySpansTest, OnlySampledDeliveriesAreTraced) { EXPECT_EQ(Trace(Stored(), /*ratio=*/0), nullptr); }

TEST_F(DeliverySpansTest, ARefusedRequestIsNotTraced) {
  Intake::Report report = Stored();
  report.times.reset();
  EXPECT_EQ(Trace(report), nullptr);
}

}  // namespace
}  // namespace stampgate
