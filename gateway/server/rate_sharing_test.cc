#include "gateway/server/rate_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/temporary_file.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/metrics/registry.h"
#include "gateway/process/steady_now.h"
#include "gateway/shares/share_metrics.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using testing::Proto;

constexpr char kRate[] = "admission { rates { requests: 60 per { seconds: 1 } } } replica { count: 4 }";
constexpr char kQuota[] = "admission { rates { requests: 60 per { seconds: 86400 } } } replica { count: 4 }";

AdmissionOptions OptionsOf(const std::string& config) {
  AdmissionOptions options;
  options.now = SteadyNow;
  RateSharing::SetOptions(Proto<config::v1::Config>(config), options);
  return options;
}

std::string StoreIn(const std::string& folder) { return absl::StrCat(" store { sqlite { folder: '", folder, "' } }"); }

class RateSharingTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  AdmissionMetrics admission_metrics_{registry_};
  ShareMetrics metrics_{registry_};
};

TEST_F(RateSharingTest, EachReplicaMayUseAnEqualPartUntilTheStoreDividesTheRates) {
  EXPECT_EQ(OptionsOf(kRate).share, 0.25);
}

TEST_F(RateSharingTest, OnlyALongWindowWithAStoreIsAQuota) {
  EXPECT_FALSE(OptionsOf(kRate).has_quotas);
  EXPECT_FALSE(OptionsOf(kQuota).has_quotas);
  EXPECT_FALSE(OptionsOf(absl::StrCat(kRate, StoreIn("/store"))).has_quotas);
  EXPECT_TRUE(OptionsOf(absl::StrCat(kQuota, StoreIn("/store"))).has_quotas);
}

TEST_F(RateSharingTest, QuotasOfOrganizationsAndOperationsAreQuotasToo) {
  for (const char* admission : {"organization_rates { requests: 1 per { seconds: 86400 } }",
                                "organizations { organization: 'a' rates { requests: 1 per { seconds: 86400 } } }",
                                "operation_rates { operations: 'a' rates { requests: 1 per { seconds: 86400 } } }"}) {
    EXPECT_TRUE(OptionsOf(absl::StrCat("admission { ", admission, " }", StoreIn("/store"))).has_quotas) << admission;
  }
}

TEST_F(RateSharingTest, WithoutAStoreNothingIsOpened) {
  const auto admission = Admission::Create(OptionsOf(kQuota), admission_metrics_);
  const auto sharing = RateSharing::Start(Proto<config::v1::Config>(kQuota), *admission, metrics_);
  ASSERT_TRUE(sharing.ok()) << sharing.status();
  EXPECT_EQ((*sharing)->QuotaWriteUnderWay(), absl::ZeroDuration());
}

TEST_F(RateSharingTest, TheQuotasAreInTheStore) {
  const std::string folder = TempPath("store");
  std::filesystem::create_directory(folder);
  const std::string config = absl::StrCat(kQuota, StoreIn(folder));
  const auto admission = Admission::Create(OptionsOf(config), admission_metrics_);
  {
    const auto sharing = RateSharing::Start(Proto<config::v1::Config>(config), *admission, metrics_);
    ASSERT_TRUE(sharing.ok()) << sharing.status();
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/quotas.db"));
}

TEST_F(RateSharingTest, AStoreThatCannotBeOpenedIsAnError) {
  const std::string config = absl::StrCat(kQuota, StoreIn("/no/such/folder"));
  const auto admission = Admission::Create(OptionsOf(config), admission_metrics_);
  EXPECT_FALSE(RateSharing::Start(Proto<config::v1::Config>(config), *admission, metrics_).ok());
}

}  // namespace
}  // namespace stampgate
