#include "gateway/admission/admission_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/admission/admission.h"
#include "gateway/admission/admission_testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

// The registry and the metrics are those of the admission in the test.
class AdmissionMetricsTest : public AdmissionTest {};

TEST_F(AdmissionMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(
      SeriesOf(registry_),
      UnorderedElementsAre(R"(counter stampgate_admission_admitted_total{class="background"})",
                           R"(counter stampgate_admission_admitted_total{class="query"})",
                           R"(counter stampgate_admission_admitted_total{class="submit"})",
                           R"(counter stampgate_admission_refused_total{class="background",reason="draining"})",
                           R"(counter stampgate_admission_refused_total{class="background",reason="left"})",
                           R"(counter stampgate_admission_refused_total{class="background",reason="no_place"})",
                           R"(counter stampgate_admission_refused_total{class="background",reason="wait_too_long"})",
                           R"(counter stampgate_admission_refused_total{class="query",reason="draining"})",
                           R"(counter stampgate_admission_refused_total{class="query",reason="left"})",
                           R"(counter stampgate_admission_refused_total{class="query",reason="no_place"})",
                           R"(counter stampgate_admission_refused_total{class="query",reason="wait_too_long"})",
                           R"(counter stampgate_admission_refused_total{class="submit",reason="draining"})",
                           R"(counter stampgate_admission_refused_total{class="submit",reason="left"})",
                           R"(counter stampgate_admission_refused_total{class="submit",reason="no_place"})",
                           R"(counter stampgate_admission_refused_total{class="submit",reason="wait_too_long"})",
                           R"(counter stampgate_upstream_retries_total{cause="broken"})",
                           R"(counter stampgate_upstream_retries_total{cause="error"})",
                           R"(counter stampgate_upstream_retries_total{cause="rate_limited"})",
                           R"(counter stampgate_upstream_retries_total{cause="unavailable"})",
                           R"(counter stampgate_upstream_retries_total{cause="unreachable"})",
                           R"(counter stampgate_upstream_retries_withheld_total{cause="broken"})",
                           R"(counter stampgate_upstream_retries_withheld_total{cause="error"})",
                           R"(counter stampgate_upstream_retries_withheld_total{cause="rate_limited"})",
                           R"(counter stampgate_upstream_retries_withheld_total{cause="unavailable"})",
                           R"(counter stampgate_upstream_retries_withheld_total{cause="unreachable"})",
                           R"(gauge stampgate_admission_waiting_calls{class="background"})",
                           R"(gauge stampgate_admission_waiting_calls{class="query"})",
                           R"(gauge stampgate_admission_waiting_calls{class="submit"})",
                           R"(gauge stampgate_upstream_breaker_open{lane="query"})",
                           R"(gauge stampgate_upstream_breaker_open{lane="submit"})",
                           R"(histogram stampgate_admission_wait_seconds{class="background"})",
                           R"(histogram stampgate_admission_wait_seconds{class="query"})",
                           R"(histogram stampgate_admission_wait_seconds{class="submit"})"));
}

TEST_F(AdmissionMetricsTest, AdmittedAndRefusedCallsAreCountedByClassAndReason) {
  MakeRates({{10, absl::Seconds(1)}});
  Fill();
  Enter("a", CallClass::kSubmit);
  for (int i = 0; i < 20; ++i) Enter();
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_admitted_total{class="query"})"), "2");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_waiting_calls{class="query"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_waiting_calls{class="submit"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_refused_total{class="query",reason="no_place"})"), "20");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_refused_total{class="query",reason="left"})"), "0");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_wait_seconds_count{class="query"})"), "2");
  time_.Pass(absl::Milliseconds(200));
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_waiting_calls{class="submit"})"), "0");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_admitted_total{class="submit"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_admission_wait_seconds_bucket{class="submit",le="0.01"})"), "0");
}

TEST_F(AdmissionMetricsTest, TheRatesAreShownOnlyIfThereAreRates) {
  Make({});
  admission_->ShowRates();
  EXPECT_EQ(ValueOf(registry_, "stampgate_upstream_rate"), "none");
  EXPECT_EQ(ValueOf(registry_, "stampgate_upstream_slowed_operations"), "none");
  MakeRates({{10, absl::Seconds(1)}});
  admission_->ShowRates();
  EXPECT_NE(ValueOf(registry_, "stampgate_upstream_rate"), "none");
  EXPECT_EQ(ValueOf(registry_, "stampgate_upstream_slowed_operations"), "0");
}

}  // namespace
}  // namespace stampgate
