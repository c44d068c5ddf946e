#include "gateway/config/rules/caller_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kHead[] =
    "upstream: {base_url: https://host}\n"
    "keys: [{name: all, file: a.key, all_organizations: true}, {name: some, file: b.key, organizations: [o, p]}]\n";

// Returns the faults of a config whose other lines are valid. `lines` is inserted at line 3 of the config.
std::string ReportOf(absl::string_view lines, const std::string& file = "f") {
  return std::string(ParseConfig(TestSnapshot(absl::StrCat(kHead, lines, "\n"), file)).status().message());
}
// Returns the faults of a caller with `members`. In the config, `members` begins at column 12 of line 3.
std::string CallerReport(absl::string_view members) { return ReportOf(absl::StrCat("callers: [{", members, "}]")); }
// Returns the faults of a grant with `members`. In the config, `members` begins at column 47 of line 3.
std::string GrantReport(absl::string_view members) {
  return CallerReport(absl::StrCat("name: c, loopback: true, grants: [{", members, "}]"));
}
constexpr char kQuery[] = "classes: [query], all_organizations: true, ";

TEST(CallerConfigTest, AConfigMustHaveACaller) {
  EXPECT_EQ(ReportOf(""), "f:1:1: callers: is required");
  EXPECT_EQ(ReportOf("callers: []"), "f:3:10: callers: is required");
}

TEST(CallerConfigTest, CallersMustHaveUniqueNames) {
  EXPECT_EQ(CallerReport("loopback: true"), "f:3:11: callers[0].name: is required");
  EXPECT_EQ(CallerReport("loopback: true, name: ''"), "f:3:34: callers[0].name: is required");
  for (const char* bad : {"A", "a b", "a_b", "a.b", "é", "a/b", "*"}) {
    EXPECT_EQ(CallerReport(absl::StrCat("loopback: true, name: '", bad, "'")),
              "f:3:34: callers[0].name: must consist of a-z, 0-9 and -")
        << bad;
  }
  EXPECT_EQ(CallerReport(absl::StrCat("loopback: true, name: ", std::string(63, 'a'))), "");
  EXPECT_EQ(CallerReport(absl::StrCat("loopback: true, name: ", std::string(64, 'a'))),
            "f:3:34: callers[0].name: must be no longer than 63 bytes");
  EXPECT_EQ(ReportOf("callers: [{name: a, loopback: true}, {name: a, dns_names: [a]}]"),
            "f:3:45: callers[1].name: is already used by callers[0].name");
}

TEST(CallerConfigTest, ACallerMustHaveAnIdentity) {
  EXPECT_EQ(CallerReport("name: c"), "f:3:11: callers[0]: needs one of spiffe_ids, dns_names and loopback");
  EXPECT_EQ(CallerReport("name: c, loopback: false, spiffe_ids: [], dns_names: []"),
            "f:3:11: callers[0]: needs one of spiffe_ids, dns_names and loopback\n"
            "f:3:50: callers[0].spiffe_ids: must not be empty: omit it to use its default\n"
            "f:3:65: callers[0].dns_names: must not be empty: omit it to use its default");
  EXPECT_EQ(CallerReport("name: c, loopback: true"), "");
  EXPECT_EQ(CallerReport("name: c, spiffe_ids: ['spiffe://example.org/a']"), "");
  EXPECT_EQ(CallerReport("name: c, dns_names: [a.example.org]"), "");
  for (const char* bad : {"", "spiffe://example.org", "spiffe://example.org/*", "https://example.org/a", "*",
                          "spiffe://example.org/a/", "spiffe://Example.org/a"}) {
    EXPECT_EQ(CallerReport(absl::StrCat("name: c, spiffe_ids: ['", bad, "']")),
              "f:3:34: callers[0].spiffe_ids[0]: must be an exact SPIFFE ID, such as spiffe://example.org/payments")
        << bad;
  }
  for (const char* bad : {"", "*.example.org", "*", "a..b", "a.example.org.", "a b"}) {
    EXPECT_EQ(CallerReport(absl::StrCat("name: c, dns_names: ['", bad, "']")),
              "f:3:33: callers[0].dns_names[0]: must be an exact DNS name")
        << bad;
  }
}

TEST(CallerConfigTest, OnlyOneCallerOfAnIdentityMayNeedNoToken) {
  const std::string digest(64, 'a');
  EXPECT_EQ(ReportOf("callers: [{name: a, loopback: true}, {name: b, loopback: true}]"),
            "f:3:58: callers[1].loopback: is already used by callers[0].loopback");
  EXPECT_EQ(ReportOf("callers: [{name: a, spiffe_ids: ['spiffe://e/a']}, {name: b, spiffe_ids: ['spiffe://e/a']}]"),
            "f:3:75: callers[1].spiffe_ids[0]: is already used by callers[0].spiffe_ids[0]");
  // DNS names that differ only in upper and lower case count as equal.
  EXPECT_EQ(ReportOf("callers: [{name: a, dns_names: [x, A.b]}, {name: b, dns_names: [a.B]}]"),
            "f:3:65: callers[1].dns_names[0]: is already used by callers[0].dns_names[1]");
  EXPECT_EQ(ReportOf(absl::StrCat("callers: [{name: a, loopback: true}, {name: b, loopback: true, token_sha256: [",
                                  digest, "]}, {name: c, loopback: true, token: {issuer: i, subjects: [s]}}]\n",
                                  "token_issuers: [{name: i, issuer: i, audiences: [a], jwks_url: 'https://host/j'}]")),
            "");
}

TEST(CallerConfigTest, ATokenMayBelongToOnlyOneCaller) {
  const std::string digest = std::string(63, 'a') + "b";
  const std::string upper = std::string(63, 'A') + "B";
  EXPECT_EQ(ReportOf(absl::StrCat("callers: [{name: a, loopback: true, token_sha256: [", digest,
                                  "]}, {name: b, dns_names: [b], token_sha256: [", upper, "]}]")),
            "f:3:161: callers[1].token_sha256[0]: is already used by callers[0].token_sha256[0]");
  for (const std::string& bad :
       {std::string(), std::string(63, 'a'), std::string(62, 'a') + "0x", std::string(63, 'a') + "g"}) {
    EXPECT_EQ(CallerReport(absl::StrCat("name: c, loopback: true, token_sha256: ['", bad, "']")),
              "f:3:52: callers[0].token_sha256[0]: must be 64 hex digits")
        << bad;
  }
  EXPECT_EQ(CallerReport(absl::StrCat("name: c, loopback: true, token_sha256: ['", std::string(65, 'a'), "']")),
            "f:3:52: callers[0].token_sha256[0]: must be no longer than 64 bytes");
}

TEST(CallerConfigTest, ASubjectOfAnIssuerMayBelongToOnlyOneCaller) {
  const std::string issuers = "\ntoken_issuers: [{name: i, issuer: x, audiences: [a], jwks_url: 'https://host/j'}]";
  const auto report = [&](absl::string_view token) {
    return ReportOf(absl::StrCat("callers: [{name: c, loopback: true, token: {", token, "}}]", issuers));
  };
  EXPECT_EQ(report("issuer: i, subjects: [a, b]"), "");
  EXPECT_EQ(report("subjects: [a]"), "f:3:44: callers[0].token.issuer: is required");
  EXPECT_EQ(report("issuer: i"), "f:3:44: callers[0].token.subjects: is required");
  EXPECT_EQ(report("issuer: x, subjects: [a]"), "f:3:53: callers[0].token.issuer: is not the name of a token issuer");
  EXPECT_EQ(report("issuer: i, subjects: [a, a]"),
            "f:3:70: callers[0].token.subjects[1]: is already used by callers[0].token.subjects[0]");
  EXPECT_EQ(ReportOf(absl::StrCat("callers: [{name: c, loopback: true, token_sha256: [", std::string(64, 'a'),
                                  "], token: {issuer: i, subjects: [a]}}]", issuers)),
            "f:3:126: callers[0].token: cannot be given together with token_sha256");
  EXPECT_EQ(ReportOf(absl::StrCat("callers: [{name: c, loopback: true, token: {issuer: i, subjects: [a]}}, "
                                  "{name: d, dns_names: [d], token: {issuer: i, subjects: [b, a]}}]",
                                  issuers)),
            "f:3:132: callers[1].token.subjects[1]: is already used by callers[0].token.subjects[0]");
}

TEST(CallerConfigTest, AGrantMustNameExistingMethods) {
  EXPECT_EQ(GrantReport("all_organizations: true"),
            "f:3:46: callers[0].grants[0]: needs at least one of methods, classes and general_operations");
  EXPECT_EQ(GrantReport("classes: [query], all_organizations: true"), "");
  EXPECT_EQ(GrantReport("methods: [PolicyService/GetPolicy, stampgate.v1.PolicyService/GetPolicy], organizations: [o]"),
            "");
  for (const char* bad :
       {"", "*", "PolicyService", "PolicyService/*", "PolicyService/None", "grpc.health.v1.Health/Check"}) {
    EXPECT_EQ(GrantReport(absl::StrCat("all_organizations: true, methods: ['", bad, "']")),
              "f:3:82: callers[0].grants[0].methods[0]: is not a method: write a name such as PolicyService/GetPolicy")
        << bad;
  }
  for (const char* general : {"GeneralService/SubmitOperation", "stampgate.v1.GeneralService/QueryOperation"}) {
    EXPECT_EQ(
        GrantReport(absl::StrCat("all_organizations: true, methods: ['", general, "']")),
        "f:3:82: callers[0].grants[0].methods[0]: must be granted with general_operations, one operation at a time");
  }
}

TEST(CallerConfigTest, AGrantMustNameExistingClasses) {
  EXPECT_EQ(GrantReport("all_organizations: true, classes: [query, login, write, dangerous, events]"), "");
  EXPECT_EQ(GrantReport("all_organizations: true, classes: [unspecified]"),
            "f:3:82: callers[0].grants[0].classes[0]: must be one of query, login, write, dangerous, events");
  for (const char* bad : {"all", "QUERY", "general", "'*'", "POLICY_CLASS_QUERY", "1"}) {
    EXPECT_THAT(GrantReport(absl::StrCat("all_organizations: true, classes: [", bad, "]")),
                HasSubstr("callers[0].grants[0].classes[0]: must be "))
        << bad;
  }
}

TEST(CallerConfigTest, AGeneralOperationNeedsAValidPathAndType) {
  const auto report = [](absl::string_view operation) {
    return GrantReport(absl::StrCat("all_organizations: true, general_operations: [{", operation, "}]"));
  };
  EXPECT_EQ(report("path: init_otp"), "");
  EXPECT_EQ(report("path: a_1, activity_type: ACTIVITY_TYPE_A_1"), "");
  EXPECT_EQ(report("activity_type: ACTIVITY_TYPE_A"),
            "f:3:93: callers[0].grants[0].general_operations[0].path: is required");
  for (const char* bad : {"*", "a/b", "../a", "A", "a-b", "a b", "é"}) {
    EXPECT_EQ(report(absl::StrCat("path: '", bad, "'")),
              "f:3:100: callers[0].grants[0].general_operations[0].path: must consist of a-z, 0-9 and _")
        << bad;
  }
  for (const char* bad : {"*", "INIT_OTP", "ACTIVITY_TYPE_", "ACTIVITY_TYPE_*", "activity_type_a", "ACTIVITY_TYPE_a",
                          " ACTIVITY_TYPE_A"}) {
    EXPECT_EQ(report(absl::StrCat("path: a, activity_type: '", bad, "'")),
              "f:3:118: callers[0].grants[0].general_operations[0].activity_type: must be ACTIVITY_TYPE_ and then A-Z, "
              "0-9 and _")
        << bad;
  }
}

TEST(CallerConfigTest, AGrantMustGiveItsOrganizationsInExactlyOneWay) {
  const std::string needs =
      "f:3:46: callers[0].grants[0]: needs one of organizations, organizations_file and all_organizations";
  EXPECT_EQ(GrantReport("classes: [query]"), needs);
  EXPECT_EQ(GrantReport("classes: [query], organizations: [], organizations_file: '', all_organizations: false"),
            needs +
                "\nf:3:80: callers[0].grants[0].organizations: must not be empty: omit it to use its default"
                "\nf:3:104: callers[0].grants[0].organizations_file: must not be empty: omit it to use its "
                "default");
  EXPECT_EQ(GrantReport("methods: [PolicyService/GetPolicy]"), needs);
  EXPECT_EQ(GrantReport("methods: [EventService/Subscribe]"), needs);
  EXPECT_EQ(GrantReport("methods: [SubscriptionService/Seek]"), needs);
  EXPECT_EQ(GrantReport("general_operations: [{path: a}]"), needs);
  // GetWebhookKeySet has no organization, so a grant of only this method names no organizations.
  EXPECT_EQ(GrantReport("methods: [WebhookService/GetWebhookKeySet]"), "");
  EXPECT_EQ(GrantReport("methods: [WebhookService/GetWebhookKeySet, PolicyService/GetPolicy]"), needs);

  const std::string twice =
      "callers[0].grants[0].organizations: conflicts with another field: give only one of organizations, "
      "organizations_file and all_organizations";
  EXPECT_EQ(GrantReport("classes: [query], organizations: [o], all_organizations: true"), "f:3:80: " + twice);
  const std::string file = NewTestFolder() + "/organizations";
  PutTestFile(file, "o\n");
  EXPECT_EQ(GrantReport(absl::StrCat("classes: [query], organizations: [o], organizations_file: ", file)),
            "f:3:80: " + twice);
  EXPECT_EQ(GrantReport(absl::StrCat("classes: [query], all_organizations: true, organizations_file: ", file)),
            "f:3:46: " + twice);

  EXPECT_EQ(GrantReport(absl::StrCat("classes: [query], organizations: [A-z.0_:9, ", std::string(128, 'x'), "]")), "");
  for (const char* bad : {"", "*", "a b", "a/b", " a", "a*", "é", "a,b"}) {
    EXPECT_EQ(
        GrantReport(absl::StrCat("classes: [query], organizations: [o, '", bad, "']")),
        "f:3:84: callers[0].grants[0].organizations[1]: must be an exact id: letters, digits, '.', '_', ':' and '-'")
        << bad;
  }
  EXPECT_EQ(GrantReport(absl::StrCat("classes: [query], organizations: [", std::string(129, 'x'), "]")),
            "f:3:81: callers[0].grants[0].organizations[0]: must be no longer than 128 bytes");
}

TEST(CallerConfigTest, TheKeyOfAGrantMustSignForItsOrganizations) {
  EXPECT_EQ(GrantReport("classes: [query], all_organizations: true, key: all"), "");
  EXPECT_EQ(GrantReport("classes: [query], organizations: [x], key: all"), "");
  EXPECT_EQ(GrantReport("classes: [query], organizations: [p, o], key: some"), "");
  for (const char* bad : {"none", "Some", "'some '"}) {
    EXPECT_EQ(GrantReport(absl::StrCat("classes: [query], organizations: [o], key: ", bad)),
              "f:3:90: callers[0].grants[0].key: is not the name of a key")
        << bad;
  }
  EXPECT_EQ(
      GrantReport("classes: [query], organizations: [o, q, p], key: some"),
      "f:3:84: callers[0].grants[0].organizations[1]: is an organization for which the grant's key does not sign");
  EXPECT_EQ(
      GrantReport("classes: [query], all_organizations: true, key: some"),
      "f:3:95: callers[0].grants[0].key: signs only for the organizations that it lists: list them in this grant too");
  EXPECT_EQ(GrantReport("methods: [WebhookService/GetWebhookKeySet], key: some"), "");
}

TEST(CallerConfigTest, AValueRuleMustBeOneThatCanBeEvaluated) {
  const auto report = [](absl::string_view rules) { return GrantReport(absl::StrCat(kQuery, rules)); };
  const std::string contract = "0x" + std::string(39, 'a') + "F";
  EXPECT_EQ(report(absl::StrCat("amount_limits: [{chain: 'eip155:1', contract: '", contract, "', max_amount: 0}]")),
            "");
  EXPECT_EQ(report(absl::StrCat("amount_limits: [{chain: c, max_amount: ", std::string(78, '9'), "}]")), "");
  EXPECT_EQ(report("amount_limits: [{max_amount: 1}]"),
            "f:3:106: callers[0].grants[0].amount_limits[0].chain: is required");
  EXPECT_EQ(report("amount_limits: [{chain: '', max_amount: 1}]"),
            "f:3:114: callers[0].grants[0].amount_limits[0].chain: is required");
  for (const std::string& bad :
       {std::string("0x"), std::string(40, 'a'), "0X" + std::string(40, 'a'), "0x" + std::string(39, 'a'),
        "0x" + std::string(41, 'a'), "0x" + std::string(39, 'a') + "g"}) {
    EXPECT_EQ(report(absl::StrCat("amount_limits: [{chain: c, contract: '", bad, "'}]")),
              "f:3:127: callers[0].grants[0].amount_limits[0].contract: must be 0x and 40 hex digits")
        << bad;
  }
  for (const char* bad : {"MAX", "01", "-1", "1.5", "1e3", "0x1", "+1", "' 1'", "1_000", "\u0661"}) {
    EXPECT_EQ(
        report(absl::StrCat("amount_limits: [{chain: c, max_amount: ", bad, "}]")),
        "f:3:129: callers[0].grants[0].amount_limits[0].max_amount: must be decimal digits without a leading zero")
        << bad;
  }
  EXPECT_EQ(report(absl::StrCat("amount_limits: [{chain: c, max_amount: ", std::string(79, '9'), "}]")),
            "f:3:129: callers[0].grants[0].amount_limits[0].max_amount: must be no longer than 78 bytes");

  EXPECT_EQ(report("dangerous_fields: [delete_without_export]"), "");
  for (const char* bad : {"", "deleteWithoutExport", "amount_value", "*"}) {
    EXPECT_EQ(report(absl::StrCat("dangerous_fields: ['", bad, "']")),
              "f:3:109: callers[0].grants[0].dangerous_fields[0]: is not the name of a dangerous field")
        << bad;
  }

  EXPECT_EQ(report(absl::StrCat("export_public_keys: ['", kPointOfOne, "']")), "");
  for (const std::string& bad : {std::string(), std::string("00"), "0x" + std::string(kPointOfOne),
                                 "02" + std::string(64, '1'), std::string(kPointOfOne).substr(2)}) {
    EXPECT_EQ(report(absl::StrCat("export_public_keys: ['", bad, "']")),
              "f:3:111: callers[0].grants[0].export_public_keys[0]: must be a public key of P-256 in hex")
        << bad;
  }

  EXPECT_EQ(report(absl::StrCat("destinations: ['", contract, "', 'So11111111111111111111111111111111111111112', '",
                                kPointOfOne, "', '0xAB']")),
            "");
  for (const char* bad : {"", " ", " a", "a ", "a b", "0x", "0xg", "0x1 ", "0X1", "0Xg", "\u00e4"}) {
    EXPECT_EQ(report(absl::StrCat("destinations: ['", bad, "']")),
              "f:3:105: callers[0].grants[0].destinations[0]: must be an address or a public key: visible ASCII "
              "characters, and after 0x hex digits only")
        << bad;
  }
  EXPECT_EQ(report(absl::StrCat("destinations: [", std::string(129, 'a'), "]")),
            "f:3:105: callers[0].grants[0].destinations[0]: must be no longer than 128 bytes");
}

TEST(CallerConfigTest, AGrantWithDestinationsMustNotNameAMethodThatMovesAssetsWithoutStatingADestination) {
  const auto report = [](absl::string_view methods, absl::string_view rules = "destinations: [a]") {
    return GrantReport(absl::StrCat("all_organizations: true, ", rules, ", methods: [", methods, "]"));
  };
  EXPECT_EQ(report("TransactionService/EthSendTransaction, PolicyService/GetPolicy"), "");
  // The gateway cannot read the transaction, the vault that receives the deposit is no destination of the message, and
  // the receiver of the fees is not in the request.
  for (const char* method :
       {"SigningService/SignTransaction", "EarnService/EarnDeposit", "SwapService/ClaimSwapFees"}) {
    EXPECT_THAT(report(absl::StrCat("PolicyService/GetPolicy, ", method)),
                EndsWith("callers[0].grants[0].methods[1]: cannot be checked against destinations: use a separate "
                         "grant for it"));
    EXPECT_EQ(report(method, "dangerous_fields: []"), "");
  }
  EXPECT_EQ(GrantReport("all_organizations: true, destinations: [a], classes: [dangerous]"), "");
  EXPECT_THAT(report("SigningService/SignTransaction", "destinations: [a], amount_limits: [{chain: c}]"),
              EndsWith("methods[0]: cannot be checked against amount_limits: use a separate grant for it"));
}

// A template from which a config is generated can produce an empty value. The gateway must not read it as "no limit".
TEST(CallerConfigTest, AnEmptyRestrictionIsRefused) {
  const std::string empty = ": must not be empty: omit it to use its default";
  for (const char* field : {"token_sha256", "spiffe_ids", "dns_names"}) {
    EXPECT_THAT(CallerReport(absl::StrCat("name: c, loopback: true, ", field, ": []")),
                EndsWith(absl::StrCat("callers[0].", field, empty)));
  }
  for (const char* field : {"amount_limits", "export_public_keys", "destinations"}) {
    EXPECT_THAT(GrantReport(absl::StrCat(kQuery, field, ": []")),
                EndsWith(absl::StrCat("callers[0].grants[0].", field, empty)));
  }
  EXPECT_THAT(GrantReport(absl::StrCat(kQuery, "organizations: []")),
              EndsWith("callers[0].grants[0].organizations" + empty));
  EXPECT_EQ(GrantReport(absl::StrCat(kQuery, "amount_limits: [{chain: c, max_amount: ''}]")),
            "f:3:129: callers[0].grants[0].amount_limits[0].max_amount" + empty);
  EXPECT_EQ(GrantReport(absl::StrCat(kQuery, "amount_limits: [{chain: c, contract: ''}]")),
            "f:3:127: callers[0].grants[0].amount_limits[0].contract" + empty);
  EXPECT_THAT(GrantReport("all_organizations: true, general_operations: [{path: a, activity_type: ''}]"),
              EndsWith("general_operations[0].activity_type" + empty));
  EXPECT_THAT(GrantReport(absl::StrCat(kQuery, "key: ''")), EndsWith("callers[0].grants[0].key" + empty));
}

TEST(CallerConfigTest, AnEmptyListOfGrantsOrMethodsGrantsNothing) {
  EXPECT_EQ(CallerReport("name: c, loopback: true, grants: []"), "");
  EXPECT_EQ(GrantReport(absl::StrCat(kQuery, "methods: [], general_operations: [], dangerous_fields: []")), "");
}

TEST(CallerConfigTest, ANameOfDigitsNeedsQuotes) {
  EXPECT_EQ(GrantReport("classes: [query], organizations: [o, 123]"),
            "f:3:84: callers[0].grants[0].organizations[1]: is a number where a name belongs: a name that consists of "
            "digits needs quotes");
  EXPECT_EQ(GrantReport("classes: [query], organizations: ['123', \"456\", 1a, a1]"), "");
  EXPECT_THAT(CallerReport("name: c, dns_names: [1]"), HasSubstr("callers[0].dns_names[0]: is a number"));
}

TEST(CallerConfigTest, AFaultOfAnUnknownMethodNamesTheNearestMethod) {
  const auto report = [](absl::string_view method) {
    return GrantReport(absl::StrCat("all_organizations: true, methods: ['", method, "']"));
  };
  const std::string place = "f:3:82: callers[0].grants[0].methods[0]: is not a method";
  EXPECT_EQ(report("PolicyService/GetPolcy"), place + "; did you mean PolicyService/GetPolicy?");
  EXPECT_EQ(report("policyservice/getpolicy"), place + "; did you mean PolicyService/GetPolicy?");
  EXPECT_EQ(report("/stampgate.v1.PolicyService/GetPolicy"),
            place + "; did you mean stampgate.v1.PolicyService/GetPolicy?");
  EXPECT_EQ(report("PolicyService.GetPolicy"), place + "; did you mean PolicyService/GetPolicy?");
  EXPECT_EQ(report("Policies/Read"), place + ": write a name such as PolicyService/GetPolicy");
}

constexpr char kDay[] = "class_grants_as_of: 2026-09-22\n";

// Returns the warnings about a config that has no faults.
std::vector<std::string> WarningsOf(absl::string_view lines, absl::string_view keys = "all_organizations: true",
                                    absl::string_view day = kDay) {
  const absl::StatusOr<ParsedConfig> parsed =
      ParseConfig(TestSnapshot(absl::StrCat("upstream: {base_url: https://host}\nkeys: [{name: k, file: k.key, ", keys,
                                            "}]\n", lines, "\n", day),
                               "f", ConfigFiles::kPolicy));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->config.warnings() : std::vector<std::string>{"a fault"};
}
std::vector<std::string> GrantWarnings(absl::string_view members, absl::string_view keys = "all_organizations: true") {
  return WarningsOf(absl::StrCat("callers: [{name: c, loopback: true, grants: [{", members, "}]}]"), keys);
}

TEST(CallerConfigTest, WarnsOfCallersWithoutGrants) {
  const std::string none = ": has no grants: every call of this caller is refused";
  EXPECT_THAT(WarningsOf("callers: [{name: c, loopback: true}, {name: d, dns_names: [d], grants: []}]"),
              ElementsAre("f:3:11: callers[0]" + none, "f:3:38: callers[1]" + none));
  EXPECT_THAT(GrantWarnings(kQuery), ElementsAre());
}

TEST(CallerConfigTest, WarnsOfEachClassThatCoversLessBecauseNoDayIsSet) {
  const auto warning = [](absl::string_view place) {
    return ContainsRegex(
        absl::StrCat(place, ": class query covers [0-9]+ of [0-9]+ methods: class_grants_as_of is not set$"));
  };
  const std::string lines =
      "callers: [{name: c, loopback: true, grants: [{all_organizations: true, classes: [events, query]}, "
      "{all_organizations: true, classes: [query]}]}]\nstore: {sqlite: {folder: .}}";
  const std::string key = "all_organizations: true";
  EXPECT_THAT(WarningsOf(lines, key, ""),
              ElementsAre(warning("callers.0..grants.0..classes.1."), warning("callers.0..grants.1..classes.0.")));
  // An operator who sets a day has chosen what the classes cover.
  EXPECT_THAT(WarningsOf(lines, key, "class_grants_as_of: 2020-01-01\n"), ElementsAre());
}

TEST(CallerConfigTest, WarnsOfAmountLimitsThatAllowAnyAmount) {
  EXPECT_THAT(GrantWarnings("all_organizations: true, methods: [EarnService/EarnWithdraw], amount_limits: "
                            "[{chain: 'eip155:1', max_amount: 5}, {chain: 'eip155:137'}]"),
              ElementsAre(EndsWith("callers[0].grants[0].amount_limits[1]: has no max_amount, so it allows any amount, "
                                   "also MAX")));
}

TEST(CallerConfigTest, AGrantCanRequireIdempotencyKeysOnlyWithAStore) {
  const auto lines = [](absl::string_view grant) {
    return absl::StrCat("callers: [{name: c, loopback: true, grants: [{all_organizations: true, ", grant,
                        ", require_idempotency_key: true}]}]\n");
  };
  const std::string store = "store: {sqlite: {folder: .}}\n";
  EXPECT_THAT(
      ReportOf(lines("methods: [PolicyService/CreatePolicies]")),
      HasSubstr("callers[0].grants[0].require_idempotency_key: needs store: without a store the gateway refuses "
                "every idempotency_key"));
  for (const char* submits : {"methods: [PolicyService/CreatePolicies]", "classes: [events, write]",
                              "general_operations: [{path: brew_tea, activity_type: ACTIVITY_TYPE_BREW_TEA}]"}) {
    EXPECT_THAT(WarningsOf(absl::StrCat(lines(submits), store)), ElementsAre()) << submits;
  }
  for (const char* none :
       {"methods: [PolicyService/GetPolicy]", "classes: [events]", "general_operations: [{path: find_teapot}]"}) {
    EXPECT_THAT(WarningsOf(absl::StrCat(lines(none), store)),
                ElementsAre(EndsWith("callers[0].grants[0].require_idempotency_key: has no effect: the grant allows no "
                                     "submit")))
        << none;
  }
}

TEST(CallerConfigTest, WarnsOfGeneralGrantsWithoutEffect) {
  const std::string typed =
      ": has no effect: it belongs to an operation that has a method of its own: grant that method";
  const std::string place = "callers[0].grants[0].general_operations";
  EXPECT_THAT(GrantWarnings("all_organizations: true, general_operations: [{path: get_policy}, "
                            "{path: other, activity_type: ACTIVITY_TYPE_CREATE_POLICIES_V9}, "
                            "{path: init_otp, activity_type: ACTIVITY_TYPE_INIT_OTP_V2}, {path: find_teapot}]"),
              ElementsAre(EndsWith(place + "[0].path" + typed), EndsWith(place + "[1].activity_type" + typed),
                          EndsWith(place + "[2].path" + typed), EndsWith(place + "[2].activity_type" + typed)));
}

TEST(CallerConfigTest, WarnsOfGeneralGrantsThatALaterReleaseWillRefuse) {
  const std::string place = "callers[0].grants[0].general_operations";
  const std::string ends = ": works only in this release and the next: the operation has a method of its own: grant ";
  EXPECT_THAT(GrantWarnings("all_organizations: true, general_operations: [{path: whoami}, "
                            "{path: init_otp, activity_type: ACTIVITY_TYPE_INIT_OTP_V3}]"),
              ElementsAre(EndsWith(place + "[0]" + ends + "AuthenticationService/Whoami"),
                          EndsWith(place + "[1]" + ends + "AuthenticationService/InitOtp")));
}

TEST(CallerConfigTest, WarnsOfEventGrantsWithoutAnEventLog) {
  const std::string no_log = ": has no effect: without store there is no event log";
  const std::string grant = "all_organizations: true, classes: [query, events], methods: [EventService/Subscribe]";
  EXPECT_THAT(GrantWarnings(grant), ElementsAre(EndsWith(".classes[1]" + no_log), EndsWith(".methods[0]" + no_log)));
  EXPECT_THAT(WarningsOf(absl::StrCat("callers: [{name: c, loopback: true, grants: [{", grant,
                                      "}]}]\nstore: {sqlite: {folder: .}}")),
              ElementsAre());
}

TEST(CallerConfigTest, WarnsOfOrganizationsForWhichNoKeySigns) {
  EXPECT_THAT(GrantWarnings("classes: [query], organizations: [o, p]", "organizations: [p]"),
              ElementsAre("f:3:81: callers[0].grants[0].organizations[0]: is an organization for which no key signs: "
                          "the gateway can send only calls with a client's own stamp"));
  EXPECT_THAT(GrantWarnings("classes: [query], organizations: [o]"), ElementsAre());
  EXPECT_THAT(WarningsOf("callers: [{name: c, loopback: true, grants: [{organizations: [o], methods: "
                         "[EventService/Subscribe, SubscriptionService/Seek]}]}]\nstore: {sqlite: {folder: .}}",
                         "organizations: [p]"),
              ElementsAre());
}

TEST(CallerConfigTest, AGrantWithValueRulesCannotGrantGeneralOperations) {
  const std::string general = "all_organizations: true, general_operations: [{path: a}], ";
  const std::string fault =
      "f:3:92: callers[0].grants[0].general_operations: cannot be checked against amount_limits, "
      "export_public_keys or destinations: use a separate grant for them";
  EXPECT_EQ(GrantReport(absl::StrCat(general, "amount_limits: [{chain: c}]")), fault);
  EXPECT_EQ(GrantReport(absl::StrCat(general, "export_public_keys: ['", kPointOfOne, "']")), fault);
  EXPECT_EQ(GrantReport(absl::StrCat(general, "destinations: [a]")), fault);
  EXPECT_EQ(GrantReport(absl::StrCat(general, "dangerous_fields: [delete_without_export]")), "");
}

TEST(CallerConfigTest, AllFaultsAreReportedTogether) {
  EXPECT_EQ(ReportOf("callers:\n"
                     "  - name: A\n"
                     "    token_sha256: [x]\n"
                     "    grants:\n"
                     "      - methods: [a/b]\n"
                     "        key: none\n"
                     "        dangerous_fields: [x]\n"
                     "      - export_public_keys: [x]\n"),
            "f:4:5: callers[0]: needs one of spiffe_ids, dns_names and loopback\n"
            "f:4:11: callers[0].name: must consist of a-z, 0-9 and -\n"
            "f:5:20: callers[0].token_sha256[0]: must be 64 hex digits\n"
            "f:7:19: callers[0].grants[0].methods[0]: is not a method: write a name such as PolicyService/GetPolicy\n"
            "f:8:14: callers[0].grants[0].key: is not the name of a key\n"
            "f:9:28: callers[0].grants[0].dangerous_fields[0]: is not the name of a dangerous field\n"
            "f:10:9: callers[0].grants[1]: needs at least one of methods, classes and general_operations\n"
            "f:10:30: callers[0].grants[1].export_public_keys[0]: must be a public key of P-256 in hex");
}

TEST(CallerConfigTest, ATokenIssuerMustHaveANameAndOneKeySet) {
  const auto report = [](absl::string_view issuers) {
    return ReportOf(absl::StrCat("callers: [{name: c, loopback: true}]\ntoken_issuers: [", issuers, "]"));
  };
  const std::string url = "jwks_url: 'https://host/keys'";
  EXPECT_EQ(report(absl::StrCat("{name: a, issuer: x, audiences: [a], ", url, "}")), "");
  EXPECT_EQ(report(absl::StrCat("{name: a, ", url, "}")),
            "f:4:17: token_issuers[0].issuer: is required\nf:4:17: token_issuers[0].audiences: is required");
  EXPECT_EQ(report(absl::StrCat("{name: A, issuer: x, audiences: [a], ", url, "}")),
            "f:4:24: token_issuers[0].name: must consist of a-z, 0-9 and -");
  EXPECT_EQ(report(absl::StrCat("{name: a, issuer: x, audiences: [a], ", url,
                                "}, {name: a, issuer: y, audiences: [a], ", url, "}")),
            "f:4:93: token_issuers[1].name: is already used by token_issuers[0].name");
  EXPECT_EQ(report(absl::StrCat("{name: a, issuer: x, audiences: [a], ", url,
                                "}, {name: b, issuer: x, audiences: [a], ", url, "}")),
            "f:4:104: token_issuers[1].issuer: is already used by token_issuers[0].issuer");
  const std::string one = "f:4:17: token_issuers[0]: needs jwks_url or jwks_file, and not both";
  EXPECT_EQ(report("{name: a, issuer: x, audiences: [a]}"), one);
  EXPECT_EQ(report(absl::StrCat("{name: a, issuer: x, audiences: [a], jwks_file: f, ", url, "}")), one);
  EXPECT_THAT(report("{name: a, issuer: x, audiences: [a], jwks_file: f, ca_file: c}"),
              HasSubstr("token_issuers[0].ca_file: can be given only with jwks_url"));

  const auto url_report = [&](absl::string_view text) {
    return report(absl::StrCat("{name: a, issuer: x, audiences: [a], jwks_url: '", text, "'}"));
  };
  EXPECT_EQ(url_report("https://host:8443/a/b?c=d"), "");
  EXPECT_EQ(url_report("http://127.0.0.1:1/a"), "");
  const std::string place = "f:4:64: token_issuers[0].jwks_url: ";
  for (const char* bad : {"https://host", "host/keys", "/keys", "https:host/keys"}) {
    EXPECT_EQ(url_report(bad), place + "must be https://host[:port]/path") << bad;
  }
  EXPECT_EQ(url_report("https://host/a#b"), place + "must be made of visible ASCII characters, without a fragment");
  EXPECT_EQ(url_report("https://host/a b"), place + "must be made of visible ASCII characters, without a fragment");
  for (const char* bad : {"http://host/keys", "ftp://host/keys", "https://user@host/keys", "https:///keys"}) {
    EXPECT_THAT(url_report(bad), HasSubstr(place)) << bad;
  }
}

}  // namespace
}  // namespace stampgate
