#include "gateway/policy/guard_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gateway/policy/testing.h"
#include "gateway/policy/testing.pb.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/extended_set.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using testing::Proto;

constexpr char kContract[] = "0xabcdef0123456789abcdef0123456789abcdef01";
constexpr char kUncompressedOfOne[] =
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";

// Returns why a grant with these fields refuses `request`, or an empty text if the grant allows it.
std::string Refusal(const std::string& grant, const google::protobuf::Message& request) {
  return GuardRules(Proto<config::v1::Grant>(grant)).Refuse(*testing::Parsed(request)).value_or("");
}

// `chain` is the name or the number of an EarnChain.
std::string Withdrawal(const std::string& grant, absl::string_view amount, absl::string_view contract = kContract,
                       absl::string_view chain = "EARN_CHAIN_EIP155_1") {
  return Refusal(grant, *testing::MessageOf("stampgate.v1.EarnWithdrawRequest",
                                            absl::StrCat("organization_id: 'o' parameters {amount_value: '",
                                                         absl::CEscape(amount), "' wrapper_address: '",
                                                         absl::CEscape(contract), "' chain_caip2: ", chain, "}")));
}

constexpr char kNotWithin[] = "amount_value is not within amount_limits";
constexpr char kNoAmount[] = "amount_value is not an amount";

std::string LimitOf(absl::string_view max_amount) {
  return absl::StrCat("amount_limits { chain: 'eip155:1' max_amount: '", max_amount, "' }");
}
const std::string& AnyAmount() {
  static const auto& any = *new std::string("amount_limits { chain: 'eip155:1' }");
  return any;
}

TEST(AmountLimitTest, TheMaxAmountIsAllowedAndOneMoreIsNot) {
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "1000"), "");
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "999"), "");
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "0"), "");
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "1001"), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "2000"), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf("1000"), "10000"), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf("0"), "0"), "");
  EXPECT_EQ(Withdrawal(LimitOf("0"), "1"), kNotWithin);
}

TEST(AmountLimitTest, AmountsCompareAsNumbersNotAsText) {
  EXPECT_EQ(Withdrawal(LimitOf("9"), "10"), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf("10"), "9"), "");
  EXPECT_EQ(Withdrawal(LimitOf("2"), "18446744073709551616"), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf("18446744073709551616"), "18446744073709551615"), "");
  EXPECT_EQ(Withdrawal(LimitOf("18446744073709551616"), "18446744073709551617"), kNotWithin);
  const std::string most(78, '9');
  EXPECT_EQ(Withdrawal(LimitOf(most), most), "");
  EXPECT_EQ(Withdrawal(LimitOf("8" + most.substr(1)), most), kNotWithin);
  EXPECT_EQ(Withdrawal(LimitOf(most), most + "9"), kNoAmount);
}

TEST(AmountLimitTest, TheAmountMaxIsAllowedOnlyWithoutAMaxAmount) {
  EXPECT_EQ(Withdrawal(LimitOf(std::string(78, '9')), "MAX"), kNotWithin);
  EXPECT_EQ(Withdrawal(AnyAmount(), "MAX"), "");
  EXPECT_EQ(Withdrawal(AnyAmount(), std::string(78, '9')), "");
}

TEST(AmountLimitTest, AMalformedAmountIsRefusedUnderEveryLimit) {
  for (const std::string& bad : {std::string(), std::string("01"), std::string("-1"), std::string("max"),
                                 std::string(79, '1'), std::string("1e3"), std::string("\u0661")}) {
    EXPECT_EQ(Withdrawal(AnyAmount(), bad), kNoAmount) << bad;
    EXPECT_EQ(Withdrawal(LimitOf("1000"), bad), kNoAmount) << bad;
  }
}

TEST(AmountLimitTest, WithoutLimitsAnyAmountIsAllowed) { EXPECT_EQ(Withdrawal("", "MAX"), ""); }

TEST(AmountLimitTest, ALimitAppliesOnlyToItsChain) {
  EXPECT_EQ(Withdrawal(AnyAmount(), "1", kContract, "EARN_CHAIN_EIP155_8453"), kNotWithin);
  EXPECT_EQ(Withdrawal("amount_limits { chain: 'eip155:8453' }", "1", kContract, "EARN_CHAIN_EIP155_8453"), "");
  // A limit applies only if its chain is exactly upstream's text for the chain. The name or number of the enum value,
  // another case and a part of the text do not match.
  for (const char* chain : {"EARN_CHAIN_EIP155_1", "1", "eip155", "eip155:", "EIP155:1", "eip155:1 ", "eip155:10"}) {
    EXPECT_EQ(Withdrawal(absl::StrCat("amount_limits { chain: '", chain, "' }"), "1"), kNotWithin) << chain;
  }
}

TEST(AmountLimitTest, AnAmountOnAnUnknownChainIsRefused) {
  // The config check would reject some of these limits. Even if the gateway used such a limit, the limit must allow
  // nothing.
  for (const std::string& grant :
       {AnyAmount(), std::string("amount_limits { chain: '' }"),
        std::string("amount_limits { chain: 'EARN_CHAIN_UNSPECIFIED' }"), std::string("amount_limits { chain: '0' }"),
        std::string("amount_limits { chain: '77' }")}) {
    EXPECT_EQ(Withdrawal(grant, "1", kContract, "EARN_CHAIN_UNSPECIFIED"), kNotWithin) << grant;
    EXPECT_EQ(Withdrawal(grant, "1", kContract, "77"), kNotWithin) << grant;
  }
}

TEST(AmountLimitTest, ALimitAppliesToItsContractInUpperAndLowerCase) {
  const std::string upper = absl::StrCat("0x", absl::AsciiStrToUpper(absl::string_view(kContract).substr(2)));
  for (const std::string& limited : {std::string(kContract), upper}) {
    const std::string grant =
        absl::StrCat("amount_limits { chain: 'eip155:1' contract: '", limited, "' max_amount: '5' }");
    EXPECT_EQ(Withdrawal(grant, "5", kContract), "");
    EXPECT_EQ(Withdrawal(grant, "5", upper), "");
    EXPECT_EQ(Withdrawal(grant, "5", "0xAbCdEf0123456789aBcDeF0123456789AbCdEf01"), "");
    EXPECT_EQ(Withdrawal(grant, "6", kContract), kNotWithin);
    for (const std::string& other :
         {std::string(), std::string(kContract) + "0", std::string(kContract).substr(0, 41),
          std::string(kContract) + " ", " " + std::string(kContract), std::string(kContract).substr(2),
          std::string("0xabcdef0123456789abcdef0123456789abcdef02"), std::string(kContract) + std::string(1, '\0')}) {
      EXPECT_EQ(Withdrawal(grant, "5", other), kNotWithin) << other;
    }
  }
}

TEST(AmountLimitTest, OneMatchingLimitIsEnough) {
  const std::string grant = absl::StrCat(
      "amount_limits { chain: 'eip155:1' max_amount: '10' } "
      "amount_limits { chain: 'eip155:1' contract: '",
      kContract,
      "' max_amount: '100' } "
      "amount_limits { chain: 'eip155:137' }");
  const std::string other = "0x0000000000000000000000000000000000000001";
  EXPECT_EQ(Withdrawal(grant, "10", other), "");
  EXPECT_EQ(Withdrawal(grant, "11", other), kNotWithin);
  EXPECT_EQ(Withdrawal(grant, "100", kContract), "");
  EXPECT_EQ(Withdrawal(grant, "101", kContract), kNotWithin);
  EXPECT_EQ(Withdrawal(grant, "MAX", kContract), kNotWithin);
  EXPECT_EQ(Withdrawal(grant, "MAX", other, "EARN_CHAIN_EIP155_137"), "");
  EXPECT_EQ(Withdrawal(grant, "0", other, "EARN_CHAIN_EIP155_56"), kNotWithin);
}

// The positions in which a request can contain a transfer. The rules must check every position, whatever the other
// fields of the request contain.
const std::vector<std::string>& Places() {
  static const auto& places = *new std::vector<std::string>{
      "transfer {%s}",
      "transfers {amount: '1' track: TRACK_MAIN} transfers {%s}",
      "transfers {%s} transfers {amount: '1' track: TRACK_MAIN}",
      "inner {transfer {%s}}",
      "inner {inner {inner {transfers {%s}}}}",
      "inners {} inners {inner {by_hand {%s}}}",
      "by_hand {%s}",
  };
  return places;
}
testing::MoveRequest MoveWith(const std::string& place, const std::string& inside) {
  std::string text = place;
  return Proto<testing::MoveRequest>(text.replace(text.find("%s"), 2, inside));
}

TEST(GuardRulesTest, AnAmountIsFoundAtAnyDepth) {
  for (const std::string& place : Places()) {
    EXPECT_EQ(Refusal(LimitOf("10"), MoveWith(place, "amount: '10' track: TRACK_MAIN")), "") << place;
    EXPECT_EQ(Refusal(LimitOf("10"), MoveWith(place, "amount: '11' track: TRACK_MAIN")),
              "amount is not within amount_limits")
        << place;
    EXPECT_EQ(Refusal(LimitOf("10"), MoveWith(place, "amount: '10' track: TRACK_SIDE")),
              "amount is not within amount_limits")
        << place;
    // The rules refuse a missing amount, because it is not known how upstream interprets it.
    EXPECT_EQ(Refusal(LimitOf("10"), MoveWith(place, "track: TRACK_MAIN")), "amount is not an amount") << place;
  }
  EXPECT_EQ(
      Refusal("amount_limits { chain: 'TRACK_SIDE' }", MoveWith("transfer {%s}", "amount: '1' track: TRACK_SIDE")), "");
}

TEST(GuardRulesTest, ADangerousFieldIsFoundAtAnyDepth) {
  for (const std::string& place : Places()) {
    const testing::MoveRequest hasty = MoveWith(place, "in_haste: true");
    EXPECT_EQ(Refusal("", hasty), "in_haste needs a grant that names it") << place;
    EXPECT_EQ(Refusal("dangerous_fields: 'in_haste'", hasty), "") << place;
    EXPECT_EQ(Refusal("dangerous_fields: 'forget'", hasty), "in_haste needs a grant that names it") << place;
    EXPECT_EQ(Refusal("", MoveWith(place, "in_haste: false")), "") << place;
    EXPECT_EQ(Refusal("", MoveWith(place, "")), "") << place;
  }
  EXPECT_EQ(
      Refusal("dangerous_fields: 'in_haste'", Proto<testing::MoveRequest>("forget: true by_hand {in_haste: true}")),
      "forget needs a grant that names it");
}

TEST(GuardRulesTest, AnExportKeyIsFoundAtAnyDepth) {
  const std::string grant = absl::StrCat("export_public_keys: '", kPointOfOne, "'");
  for (const std::string& place :
       {std::string("export {%s}"), absl::StrCat("exports {key: '", kPointOfOne, "'} exports {%s}"),
        std::string("by_post {%s}"), std::string("inner {inners {by_post {%s}}}")}) {
    EXPECT_EQ(Refusal(grant, MoveWith(place, absl::StrCat("key: '", kPointOfOne, "'"))), "") << place;
    EXPECT_EQ(Refusal(grant, MoveWith(place, absl::StrCat("key: '", kUncompressedOfOne, "'"))), "") << place;
    for (const std::string& other : {std::string(), std::string(kPointOfTwo), "02" + std::string(kPointOfOne).substr(2),
                                     "0x" + std::string(kPointOfOne), std::string("00"), std::string("x")}) {
      EXPECT_EQ(Refusal(grant, MoveWith(place, absl::StrCat("key: '", other, "'"))),
                "key is not one of export_public_keys")
          << place << other;
    }
    EXPECT_EQ(Refusal("", MoveWith(place, "key: 'anything'")), "") << place;
  }
}

constexpr char kNotADestination[] = "to is not one of destinations";
constexpr char kNoDestination[] = "the request states none of destinations";

// Returns why a grant with kContract and "Solana1" as its destinations refuses the calls of this transaction.
std::string Calls(const std::string& calls) {
  return Refusal(
      absl::StrCat("destinations: ['", kContract, "', 'Solana1']"),
      *testing::MessageOf("stampgate.v1.EthSendTransactionRequest", absl::StrCat("parameters {", calls, "}")));
}
std::string CallTo(absl::string_view to) { return absl::StrCat("calls {to: '", absl::CEscape(to), "'} "); }

TEST(DestinationTest, OnlyTheListedDestinationsAreAllowed) {
  EXPECT_EQ(Calls(CallTo(kContract)), "");
  EXPECT_EQ(Calls(CallTo("Solana1")), "");
  const std::string contract = kContract;
  for (const std::string& other :
       {std::string(), std::string("0x"), std::string("0xabcdef0123456789abcdef0123456789abcdef02"), contract + "0",
        contract.substr(0, 41), contract.substr(2), contract + " ", " " + contract, contract + "\n", "\t" + contract,
        contract + std::string(1, '\0'), contract + ",Solana1", std::string("Solana"), std::string("Solana11"),
        std::string("*"), std::string("\u0430")}) {
    EXPECT_EQ(Calls(CallTo(other)), kNotADestination) << other;
  }
}

TEST(DestinationTest, OnlyTextsThatBeginWith0xCompareWithoutCase) {
  const std::string digits = std::string(kContract).substr(2);
  const std::string upper = "0x" + absl::AsciiStrToUpper(digits);
  EXPECT_EQ(Calls(CallTo(upper)), "");
  EXPECT_EQ(Calls(CallTo("0xAbCdEf0123456789aBcDeF0123456789AbCdEf01")), "");
  EXPECT_EQ(Calls(CallTo("0X" + digits)), kNotADestination);
  for (const char* other : {"solana1", "SOLANA1", "SolanA1"}) EXPECT_EQ(Calls(CallTo(other)), kNotADestination);
  EXPECT_EQ(Refusal(absl::StrCat("destinations: '", upper, "'"),
                    *testing::MessageOf("stampgate.v1.EthSendTransactionRequest",
                                        absl::StrCat("parameters {", CallTo(kContract), "}"))),
            "");
}

TEST(DestinationTest, EachOfSeveralCallsMustHaveAListedDestination) {
  EXPECT_EQ(Calls(CallTo(kContract) + CallTo("Solana1") + CallTo(kContract)), "");
  const std::string other = CallTo("0xabcdef0123456789abcdef0123456789abcdef02");
  EXPECT_EQ(Calls(other + CallTo(kContract) + CallTo(kContract)), kNotADestination);
  EXPECT_EQ(Calls(CallTo(kContract) + other + CallTo(kContract)), kNotADestination);
  EXPECT_EQ(Calls(CallTo(kContract) + CallTo(kContract) + other), kNotADestination);
  EXPECT_EQ(Calls(CallTo(kContract) + "calls {}"), kNotADestination);
  EXPECT_EQ(Calls(CallTo(kContract) + "calls {value: '1' data: '0x'}"), kNotADestination);
}

TEST(DestinationTest, ARequestThatStatesNoDestinationIsRefused) {
  EXPECT_EQ(Calls(""), kNoDestination);
  EXPECT_EQ(Refusal("destinations: 'a'", *testing::MessageOf("stampgate.v1.EthSendTransactionRequest", "")),
            kNoDestination);
  EXPECT_EQ(Refusal("destinations: 'a'", testing::MoveRequest()), kNoDestination);
  EXPECT_EQ(Refusal("destinations: 'a'", Proto<testing::MoveRequest>("inner {inners {} export {key: 'a'}}")),
            kNoDestination);
  // A request that can state no destination is not concerned.
  EXPECT_EQ(Refusal("destinations: 'a'", Proto<testing::LookRequest>("organization_id: 'a'")), "");
}

TEST(DestinationTest, ADestinationIsFoundAtAnyDepth) {
  for (const std::string& place :
       {std::string("transfer {%s}"), std::string("transfers {to: 'a'} transfers {%s}"),
        std::string("transfers {%s} transfers {to: 'a'}"), std::string("inner {transfer {%s}}"),
        std::string("inner {inner {inner {transfers {%s}}}}"), std::string("inners {} inners {inner {by_hand {%s}}}"),
        std::string("transfer {to: 'a'} by_hand {%s}")}) {
    EXPECT_EQ(Refusal("destinations: 'a'", MoveWith(place, "to: 'a'")), "") << place;
    for (const char* other : {"to: 'b'", "to: 'A'", "to: ''", ""}) {
      EXPECT_EQ(Refusal("destinations: 'a'", MoveWith(place, other)), kNotADestination) << place << other;
      EXPECT_EQ(Refusal("", MoveWith(place, other)), "") << place << other;
    }
  }
}

TEST(DestinationTest, EachOfTwoDestinationsMustBeListed) {
  const std::string grant = "destinations: ['a', 'b']";
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("first: 'a' second: 'b'")), "");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("first: 'c' second: 'b'")),
            "first is not one of destinations");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("first: 'a' second: 'c'")),
            "second is not one of destinations");
  // A field that is not set states nothing, but one of them must state a destination.
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("first: 'a'")), "");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("second: 'b'")), "");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("second: 'c'")), "second is not one of destinations");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("first: 'a' second: ''")),
            "second is not one of destinations");
  EXPECT_EQ(Refusal(grant, Proto<testing::TwoDestinations>("")), "first is not one of destinations");
}

TEST(DestinationTest, TheAmountsOfARequestAreCheckedToo) {
  const std::string grant = LimitOf("10") + " destinations: 'a'";
  EXPECT_EQ(Refusal(grant, MoveWith("transfer {%s}", "amount: '10' track: TRACK_MAIN to: 'a'")), "");
  EXPECT_EQ(Refusal(grant, MoveWith("transfer {%s}", "amount: '11' track: TRACK_MAIN to: 'a'")),
            "amount is not within amount_limits");
  EXPECT_EQ(Refusal(grant, MoveWith("transfer {%s}", "amount: '10' track: TRACK_MAIN to: 'b'")), kNotADestination);
}

// Each field of the API that is a destination, in a request that states every other destination as the grant lists it.
TEST(DestinationTest, TheDestinationsOfTheApiAreChecked) {
  struct Row {
    const char* request;
    const char* fields;  // $0 is the destination
    const char* field;
  };
  for (const Row& row : {
           Row{"EthSendTransaction", "calls {to: 'a'} calls {to: '$0'}", "to"},
           Row{"UpsertSwapConfig", "fee_receiver_wallet_address: '$0'", "fee_receiver_wallet_address"},
           Row{"SparkPrepareTransfer", "transfer {receiver_public_key: '$0'}", "receiver_public_key"},
           Row{"EarnWithdraw", "sign_with: '$0' wrapper_address: 'b'", "sign_with"},
           Row{"EarnClaimRewards", "sign_with: '$0'", "sign_with"},
           Row{"ClaimEarnFees", "wrapper_address: '$0'", "wrapper_address"},
           Row{"EarnDeployWrapper", "vault_address: '$0' client_fee_wallet: 'a'", "vault_address"},
           Row{"EarnDeployWrapper", "vault_address: 'a' client_fee_wallet: '$0'", "client_fee_wallet"},
       }) {
    const auto refusal = [&row](const char* destination) {
      return Refusal("destinations: 'a'",
                     *testing::MessageOf(absl::StrCat("stampgate.v1.", row.request, "Request"),
                                         absl::StrCat("parameters {", absl::Substitute(row.fields, destination), "}")));
    };
    EXPECT_EQ(refusal("a"), "") << row.request;
    EXPECT_EQ(refusal("b"), absl::StrCat(row.field, " is not one of destinations"));
    EXPECT_EQ(refusal(""), absl::StrCat(row.field, " is not one of destinations"));
  }
}

TEST(GuardRulesTest, ARuleThatCannotBeEvaluatedRefuses) {
  const std::string track = "track: TRACK_MAIN ";
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::NumberAmount>(track + "amount: 1")), "amount is not an amount");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::ListOfAmounts>(track)), "amounts is not an amount");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::AmountWithoutTrack>("amount: '1'")),
            "amount is not within amount_limits");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TrackOutside>(track + "inside {amount: '1'}")),
            "amount is not within amount_limits");
  const std::string keys = absl::StrCat("export_public_keys: '", kPointOfOne, "'");
  EXPECT_EQ(Refusal(keys, Proto<testing::FlagKey>("key: true")), "key is not one of export_public_keys");
  EXPECT_EQ(Refusal(keys, Proto<testing::FlagKey>("")), "key is not one of export_public_keys");
  EXPECT_EQ(Refusal(keys, Proto<testing::ListOfKeys>("")), "keys is not one of export_public_keys");
  EXPECT_EQ(Refusal("destinations: 'a'", Proto<testing::ListOfDestinations>("")),
            "destinations is not one of destinations");
  EXPECT_EQ(Refusal("destinations: ['true', '1']", Proto<testing::FlagDestination>("destination: true")),
            "destination is not one of destinations");
}

TEST(GuardRulesTest, EachOfTwoAmountsMustBeWithinTheLimit) {
  const std::string track = "track: TRACK_MAIN ";
  EXPECT_EQ(Refusal(LimitOf("5"), Proto<testing::TwoAmounts>(track + "first: '5' second: '5'")), "");
  EXPECT_EQ(Refusal(LimitOf("5"), Proto<testing::TwoAmounts>(track + "first: '6' second: '5'")),
            "first is not within amount_limits");
  EXPECT_EQ(Refusal(LimitOf("5"), Proto<testing::TwoAmounts>(track + "first: '5' second: '6'")),
            "second is not within amount_limits");
  EXPECT_EQ(Refusal(LimitOf("5"), Proto<testing::TwoAmounts>(track + "first: '5' second: 'MAX'")),
            "second is not within amount_limits");
}

TEST(GuardRulesTest, EachChainThatIsSetMustBeWithinTheLimit) {
  const std::string main = "amount: '1' track: TRACK_MAIN ";
  const char* const kRefused = "amount is not within amount_limits";
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>(main)), "");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>("amount: '1' other_track: TRACK_MAIN")), "");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>(main + "other_track: TRACK_MAIN")), "");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>(main + "other_track: TRACK_SIDE")), kRefused);
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>("amount: '1' other_track: TRACK_SIDE")), kRefused);
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TwoTracks>("amount: '1'")), kRefused);
  // The validator refuses a request whose chains differ. These rules do not depend on it.
  EXPECT_EQ(Refusal(AnyAmount() + " amount_limits { chain: 'TRACK_SIDE' max_amount: '0' }",
                    Proto<testing::TwoTracks>(main + "other_track: TRACK_SIDE")),
            kRefused);
}

TEST(GuardRulesTest, EachContractThatIsSetMustBeWithinTheLimit) {
  const std::string here = absl::StrCat("amount_limits { chain: 'eip155:1' contract: '", kContract, "' }");
  const auto refusal = [&](const std::string& grant, const std::string& contracts) {
    return Refusal(grant, Proto<testing::TwoContracts>("amount: '1' track: TRACK_MAIN " + contracts));
  };
  const std::string first = absl::StrCat("contract: '", kContract, "' ");
  const std::string second = absl::StrCat("other_contract: '", kContract, "' ");
  EXPECT_EQ(refusal(here, first), "");
  EXPECT_EQ(refusal(here, second), "");
  EXPECT_EQ(refusal(here, first + second), "");
  EXPECT_EQ(refusal(here, first + "other_contract: '0x00'"), "amount is not within amount_limits");
  EXPECT_EQ(refusal(here, second + "contract: '0x00'"), "amount is not within amount_limits");
  EXPECT_EQ(refusal(here, ""), "amount is not within amount_limits");
  EXPECT_EQ(refusal(AnyAmount(), first + "other_contract: '0x00'"), "");
}

TEST(GuardRulesTest, EachElementOfAGuardedListIsChecked) {
  const auto amounts = [](const std::string& amounts) {
    return Refusal(LimitOf("5"), Proto<testing::ListOfAmounts>("track: TRACK_MAIN " + amounts));
  };
  EXPECT_EQ(amounts("amounts: ['5', '1']"), "");
  EXPECT_EQ(amounts("amounts: ['5', '6']"), "amounts is not within amount_limits");
  EXPECT_EQ(amounts("amounts: ['MAX', '5']"), "amounts is not within amount_limits");
  EXPECT_EQ(amounts("amounts: ['5', '']"), "amounts is not an amount");
  const auto keys = [](const std::string& keys) {
    return Refusal(absl::StrCat("export_public_keys: '", kPointOfOne, "'"), Proto<testing::ListOfKeys>(keys));
  };
  EXPECT_EQ(keys(absl::Substitute("keys: ['$0', '$0']", kPointOfOne)), "");
  EXPECT_EQ(keys(absl::Substitute("keys: ['$0', '$1']", kPointOfOne, kPointOfTwo)),
            "keys is not one of export_public_keys");
  const auto destinations = [](const std::string& list) {
    return Refusal("destinations: 'a'", Proto<testing::ListOfDestinations>(list));
  };
  EXPECT_EQ(destinations("destinations: ['a', 'a']"), "");
  EXPECT_EQ(destinations("destinations: ['a', 'b']"), "destinations is not one of destinations");
  EXPECT_EQ(destinations("destinations: ['', 'a']"), "destinations is not one of destinations");
}

TEST(GuardRulesTest, ManyChainsAndContractsAreRefusedInLittleTime) {
  std::string lists;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&lists, "tracks: 'c", i, "' contracts: '", i, "' amounts: '1' ");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::ListOfPlaces>(lists)), "amounts is not within amount_limits");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::ListOfPlaces>(
                                     "tracks: ['eip155:1', 'eip155:1'] contracts: ['1', '2'] amounts: ['1', '2']")),
            "");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::ListOfPlaces>("tracks: ['eip155:1', 'eip155:2'] amounts: '1'")),
            "amounts is not within amount_limits");
  // Each pair of the chain and a contract is allowed, so only their number is the reason.
  std::string contracts;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&contracts, "contracts: '", i, "' ");
  const auto with = [&](const char* more) {
    return Refusal(AnyAmount(),
                   Proto<testing::ListOfPlaces>(absl::StrCat("tracks: 'eip155:1' amounts: '1' ", contracts, more)));
  };
  EXPECT_EQ(with(""), "");
  EXPECT_EQ(with("contracts: '1000'"), "amounts is not within amount_limits");
}

TEST(GuardRulesTest, EachContractOfAListMustBeThatOfTheLimit) {
  const auto with = [](const char* contracts) {
    return Refusal(
        "amount_limits { chain: 'eip155:1' contract: '0xaa' max_amount: '5' }",
        Proto<testing::ListOfPlaces>(absl::StrCat("tracks: 'eip155:1' amounts: '5' contracts: ", contracts)));
  };
  EXPECT_EQ(with("['0xaa', '0xAA']"), "");
  for (const char* contracts : {"['0xaa', '0xbb']", "['0xbb', '0xaa']", "['0xaa', '']"}) {
    EXPECT_EQ(with(contracts), "amounts is not within amount_limits") << contracts;
  }
}

TEST(GuardRulesTest, TheFieldOfAChainMayBeAString) {
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TextTrack>("amount: '1' track: 'eip155:1'")), "");
  EXPECT_EQ(Refusal(AnyAmount(), Proto<testing::TextTrack>("amount: '1' track: 'eip155:2'")),
            "amount is not within amount_limits");
}

TEST(GuardRulesTest, ADangerousFieldThatIsNoFlagNeedsItsGrantWheneverItIsSet) {
  for (const auto& [set, name] : {std::pair("flags: false", "flags"), std::pair("flags: [true, false]", "flags"),
                                  std::pair("text: 'a'", "text"), std::pair("inside {}", "inside")}) {
    const auto request = Proto<testing::DangerousThings>(set);
    EXPECT_EQ(Refusal("", request), absl::StrCat(name, " needs a grant that names it"));
    EXPECT_EQ(Refusal(absl::StrCat("dangerous_fields: '", name, "'"), request), "");
  }
  EXPECT_EQ(Refusal("", testing::DangerousThings()), "");
}

TEST(GuardRulesTest, TheGuardedFieldsOfTheApiAreChecked) {
  const auto deletion = [](const char* parameters) {
    return Refusal("", *testing::MessageOf("stampgate.v1.DeleteSubOrganizationRequest",
                                           absl::StrCat("parameters {", parameters, "}")));
  };
  EXPECT_EQ(deletion("delete_without_export: true"), "delete_without_export needs a grant that names it");
  EXPECT_EQ(deletion("delete_without_export: false"), "");
  EXPECT_EQ(deletion(""), "");
  const auto exporting = [](absl::string_view key) {
    return Refusal(absl::StrCat("export_public_keys: '", kPointOfOne, "'"),
                   *testing::MessageOf("stampgate.v1.ExportWalletAccountRequest",
                                       absl::StrCat("parameters {target_public_key: '", key, "'}")));
  };
  EXPECT_EQ(exporting(kUncompressedOfOne), "");
  EXPECT_EQ(exporting(absl::AsciiStrToUpper(kUncompressedOfOne)), "");
  EXPECT_EQ(exporting(kPointOfTwo), "target_public_key is not one of export_public_keys");
}

TEST(GuardRulesTest, TheReasonOfARefusalQuotesNoValue) {
  for (const std::string& why : {Withdrawal(LimitOf("5"), "424242"), Withdrawal(LimitOf("5"), "hunter2"),
                                 Calls(CallTo("hunter2")), Calls(CallTo("424242"))}) {
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(why.find("424242"), std::string::npos);
    EXPECT_EQ(why.find("hunter2"), std::string::npos);
  }
}

TEST(IsDangerousFieldTest, IsTrueForTheExactNamesOfDangerousFields) {
  const OperationSet::Shared set = testing::SetWith(*testing::MoveRequest::descriptor()->file());
  EXPECT_TRUE(IsDangerousField(*set, "delete_without_export"));
  EXPECT_TRUE(IsDangerousField(*set, "forget"));
  EXPECT_TRUE(IsDangerousField(*set, "in_haste"));
  for (const char* other : {"", "deleteWithoutExport", "delete_without_export ", "parameters", "amount_value",
                            // The test's proto marks these two as dangerous, but no operation's request contains them.
                            "flags", "text"}) {
    EXPECT_FALSE(IsDangerousField(*set, other)) << other;
  }
}

}  // namespace
}  // namespace stampgate
