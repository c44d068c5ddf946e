#include "gateway/callers/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/policy/testing.h"
#include "gateway/policy/testing.pb.h"
#include "translate/testing/extended_set.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

config::v1::Caller ConfigOf(const std::string& text) { return testing::Proto<config::v1::Caller>(text); }

TEST(DescriptionTest, HasALineForEachGrantAndMethod) {
  const OperationSet::Shared set = testing::SetWith(*testing::MoveRequest::descriptor()->file());
  const config::v1::Caller caller = ConfigOf(absl::StrCat(
      "name: 'payments' "
      "grants {classes: POLICY_CLASS_LOGIN methods: 'stampgate.v1.PolicyService/GetPolicy' organizations: ['a', 'b']}"
      "grants {methods: ['EarnService/EarnWithdraw', 'stampgate.testing.VaultService/Move'] all_organizations: true"
      "        key: 'treasury'"
      "        amount_limits {chain: 'eip155:1' contract: '0xAB' max_amount: '5'} amount_limits {chain: 'eip155:137'}"
      "        dangerous_fields: ['delete_without_export', 'forget'] export_public_keys: '",
      kPointOfOne,
      "' destinations: ['0xCD', 'So1'] require_idempotency_key: true}"
      "grants {general_operations {path: 'whoami'}"
      "        general_operations {path: 'init_otp' activity_type: 'ACTIVITY_TYPE_INIT_OTP'}"
      "        organizations: ['1', '2', '3', '4', '5', '6', '7']}"
      "grants {methods: 'WebhookService/GetWebhookKeySet'}"));
  EXPECT_EQ(
      absl::StrJoin(DescribeGrants(caller, *set), "\n"),
      "grant 1: a, b\n"
      "  AuthenticationService/Oauth (login)\n"
      "  AuthenticationService/Oauth2Authenticate (login)\n"
      "  AuthenticationService/StampLogin (login)\n"
      "  AuthenticationService/VerifyOtp (login)\n"
      "  PolicyService/GetPolicy (query)\n"
      "grant 2: all organizations, key treasury, amounts on eip155:1 of 0xAB up to 5, any amount on eip155:137 of any,"
      " with delete_without_export, forget, exports to 1 keys only, assets to 0xCD, So1 only, submits only with an"
      " idempotency_key\n"
      "  stampgate.testing.VaultService/Move (dangerous)\n"
      "  EarnService/EarnWithdraw (dangerous)\n"
      "grant 3: 1, 2, 3, 4, 5 and 2 more\n"
      "  GeneralService: whoami (query)\n"
      "  GeneralService: init_otp as ACTIVITY_TYPE_INIT_OTP\n"
      "grant 4: no organization\n"
      "  WebhookService/GetWebhookKeySet (query)");
  EXPECT_THAT(DescribeGrants(ConfigOf("name: 'a'"), *set), ElementsAre("nothing"));
}

}  // namespace
}  // namespace stampgate
