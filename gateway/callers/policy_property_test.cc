// Compares 500,000 random decisions of the gateway with the decisions of a second, independent implementation of the
// rules in config.proto. This implementation searches the whole config for each question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "gateway/callers/caller.h"
#include "gateway/policy/expected_rights.h"
#include "gateway/policy/testing.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using Random = std::mt19937_64;

template <typename T>
const T& Pick(Random& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}
bool OneIn(Random& random, size_t n) { return random() % n == 0; }

const std::vector<std::string>& Organizations() {
  static const auto& list = *new std::vector<std::string>{"alpha", "Alpha", "alpha-1", "beta", "gamma"};
  return list;
}

// The methods whose requests have a value that a grant can limit, chosen by hand.
enum class Guarded { kAmount, kExportKey, kDangerous, kDangerousText, kDestination };
struct GuardedMethod {
  const char* name;
  Guarded guarded;
  const char* field;                          // the amount, the key, the dangerous field, or the destination
  const char* request = "parameters { $0 }";  // the request with the fields `$0` and the destination `$1`
};
const std::vector<GuardedMethod>& GuardedMethods() {
  static const auto& methods = *new std::vector<GuardedMethod>{
      {"EarnService/ClaimEarnFees", Guarded::kDestination, "wrapper_address"},
      {"EarnService/EarnClaimRewards", Guarded::kDestination, "sign_with"},
      {"EarnService/EarnDeployWrapper", Guarded::kDestination, "client_fee_wallet",
       "parameters { $0 vault_address: '$1' }"},
      {"EarnService/EarnDeposit", Guarded::kAmount, "assets"},
      {"EarnService/EarnWithdraw", Guarded::kAmount, "amount_value", "parameters { $0 sign_with: '$1' }"},
      {"OrganizationService/DeleteSubOrganization", Guarded::kDangerous, "delete_without_export"},
      {"PrivateKeyService/CreatePrivateKeys", Guarded::kDangerousText, "external_signer_pubkey"},
      {"PrivateKeyService/DeletePrivateKeys", Guarded::kDangerous, "delete_without_export"},
      {"PrivateKeyService/ExportPrivateKey", Guarded::kExportKey, "target_public_key"},
      {"SecretService/ExportSecrets", Guarded::kExportKey, "target_public_key", "parameters { secrets { $0 } }"},
      {"SigningService/SignRawPayload", Guarded::kDangerousText, "external_signer_pubkey"},
      {"SigningService/SignRawPayloads", Guarded::kDangerousText, "external_signer_pubkey"},
      {"SigningService/SignTransaction", Guarded::kDangerousText, "external_signer_pubkey"},
      {"SigningService/SparkPrepareTransfer", Guarded::kDestination, "receiver_public_key",
       "parameters { transfer { $0 } }"},
      {"SwapService/CreateSwapQuoteV3", Guarded::kDestination, "destination_address"},
      {"SwapService/ExecuteSwapV3", Guarded::kDestination, "destination_address"},
      {"SwapService/UpsertSwapConfig", Guarded::kDestination, "fee_receiver_wallet_address"},
      {"TransactionService/EthSendTransaction", Guarded::kDestination, "to",
       "parameters { calls { to: '$1' } calls { $0 } }"},
      {"TvcService/CreateTvcApp", Guarded::kDangerous, "enable_debug_mode_deployments"},
      {"TvcService/CreateTvcDeployment", Guarded::kDangerous, "debug_mode"},
      {"WalletService/DeleteWalletAccounts", Guarded::kDangerous, "delete_without_export"},
      {"WalletService/DeleteWallets", Guarded::kDangerous, "delete_without_export"},
      {"WalletService/ExportWallet", Guarded::kExportKey, "target_public_key"},
      {"WalletService/ExportWalletAccount", Guarded::kExportKey, "target_public_key"},
  };
  return methods;
}
// Returns null if no value rule applies to the method.
const GuardedMethod* FindGuarded(const std::string& name) {
  for (const GuardedMethod& method : GuardedMethods()) {
    if (method.name == name) return &method;
  }
  return nullptr;
}
const std::vector<std::string>& Methods() {
  static const auto& all = *new std::vector<std::string>([] {
    std::vector<std::string> methods;
    for (const auto& [name, unused] : AllExpectedRights()) methods.push_back(name);
    // Adds four more copies of each method that has value rules, so that a random choice picks them more often.
    for (int i = 0; i < 4; ++i) {
      for (const GuardedMethod& method : GuardedMethods()) methods.push_back(method.name);
    }
    return methods;
  }());
  return all;
}
const std::vector<std::pair<std::string, v1::PolicyClass>>& ClassNames() {
  static const auto& names =
      *new std::vector<std::pair<std::string, v1::PolicyClass>>{{"query", v1::POLICY_CLASS_QUERY},
                                                                {"login", v1::POLICY_CLASS_LOGIN},
                                                                {"write", v1::POLICY_CLASS_WRITE},
                                                                {"dangerous", v1::POLICY_CLASS_DANGEROUS},
                                                                {"events", v1::POLICY_CLASS_EVENTS}};
  return names;
}
// The settings class_grants_as_of that are used: none, a day before the first release whose operations have a day, the
// days of some releases, and the day of the newest one.
const std::vector<std::string>& Days() {
  static const auto& days = *new std::vector<std::string>{"", "2026-09-21", "2026-09-22", "2026-10-21",
                                                          OperationSet::BuiltIn()->newest_since()};
  return days;
}
const std::vector<std::string> kDangerousFields = {"delete_without_export", "enable_debug_mode_deployments",
                                                   "debug_mode", "external_signer_pubkey"};
const std::vector<std::string> kPaths = {"init_otp", "whoami"};
const std::vector<std::string> kTypes = {"", "ACTIVITY_TYPE_INIT_OTP", "ACTIVITY_TYPE_INIT_OTP_V3"};
const std::vector<std::string> kChains = {"eip155:1", "eip155:137"};
const std::vector<std::string> kContracts = {"0x00000000000000000000000000000000000000aa",
                                             "0x00000000000000000000000000000000000000BB"};
const std::vector<std::string> kAmounts = {
    "0", "9", "10", "11", "100", "99999999999999999999", "100000000000000000000"};

const std::vector<std::string> kDestinations = {"0x00000000000000000000000000000000000000cc",
                                                "0x00000000000000000000000000000000000000DD", "So1anaAddress"};

// The list Keys() contains two keys, each in several spellings, and texts that are no key.
struct KeySpelling {
  std::string hex;
  int key;  // 0: not a key
};
const std::vector<KeySpelling>& Keys() {
  static const auto& keys =
      *new std::vector<KeySpelling>{{kPointOfOne, 1},
                                    {"036B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296", 1},
                                    {"046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                                     "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
                                     1},
                                    {kPointOfTwo, 2},
                                    {"047cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978"
                                     "07775510db8ed040293d9ac69f7430dbba7dade63ce982299e04b79d227873d1",
                                     2},
                                    {"", 0},
                                    {"026b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2", 0},
                                    {"zz", 0}};
  return keys;
}

config::v1::Grant RandomGrant(Random& random) {
  config::v1::Grant grant;
  switch (random() % 4) {
    case 0:
      grant.set_all_organizations(true);
      break;
    case 1:
      break;  // the question has no organization
    default:
      for (size_t i = 0; i <= random() % 3; ++i) grant.add_organizations(Pick(random, Organizations()));
  }
  if (OneIn(random, 2)) grant.add_classes(Pick(random, ClassNames()).second);
  for (size_t i = random() % 4; i > 0; --i) {
    grant.add_methods((OneIn(random, 2) ? "" : "stampgate.v1.") + Pick(random, Methods()));
  }
  if (OneIn(random, 3)) {
    config::v1::GeneralOperation& operation = *grant.add_general_operations();
    operation.set_path(Pick(random, kPaths));
    operation.set_activity_type(Pick(random, kTypes));
  }
  if (OneIn(random, 2)) grant.set_key(absl::StrCat("key-", random() % 3));
  for (size_t i = OneIn(random, 2) ? random() % 3 : 0; i > 0; --i) {
    config::v1::AmountLimit& limit = *grant.add_amount_limits();
    limit.set_chain(Pick(random, kChains));
    if (OneIn(random, 2)) limit.set_contract(Pick(random, kContracts));
    if (!OneIn(random, 3)) limit.set_max_amount(Pick(random, kAmounts));
  }
  for (const std::string& field : kDangerousFields) {
    if (OneIn(random, 2)) grant.add_dangerous_fields(field);
  }
  for (size_t i = OneIn(random, 2) ? random() % 3 : 0; i > 0; --i) {
    const KeySpelling& key = Pick(random, Keys());
    if (key.key != 0) grant.add_export_public_keys(key.hex);
  }
  for (size_t i = OneIn(random, 4) ? random() % 4 : 0; i > 0; --i) grant.add_destinations(Pick(random, kDestinations));
  return grant;
}

// One question, and the facts about its request that the independent implementation needs.
struct Asked {
  std::string method;  // short name
  std::string organization_id;
  bool general = false;
  std::string path;
  std::string type;
  std::string amount;
  std::string chain;
  std::string contract;
  bool dangerous = false;  // the value of the dangerous field, if the request has one
  KeySpelling export_key;
  std::string destination;
  std::string other_destination;  // of requests that state two
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), tolower);
  return text;
}

// Returns a question to `caller`. Most questions are about a method that a grant names, because a random choice
// from all methods seldom picks one.
Asked RandomQuestion(Random& random, const config::v1::Caller& caller) {
  Asked asked;
  asked.organization_id = Pick(random, Organizations());
  asked.general = OneIn(random, 5);
  if (asked.general) {
    asked.path = Pick(random, kPaths);
    asked.type = Pick(random, kTypes);
    asked.method = asked.type.empty() ? "GeneralService/QueryOperation" : "GeneralService/SubmitOperation";
    return asked;
  }
  std::vector<std::string> named;
  for (const config::v1::Grant& grant : caller.grants()) {
    for (absl::string_view name : grant.methods()) {
      absl::ConsumePrefix(&name, "stampgate.v1.");
      named.emplace_back(name);
    }
  }
  asked.method = Pick(random, named.empty() || OneIn(random, 4) ? Methods() : named);
  asked.amount = OneIn(random, 8)   ? "MAX"
                 : OneIn(random, 8) ? Pick(random, std::vector<std::string>{"", "01", "-1", "max", "1e2"})
                                    : Pick(random, kAmounts);
  asked.chain = OneIn(random, 10) ? "" : Pick(random, kChains);
  asked.contract = Pick(random, kContracts);
  if (OneIn(random, 2))
    std::transform(asked.contract.begin() + 2, asked.contract.end(), asked.contract.begin() + 2, tolower);
  asked.dangerous = OneIn(random, 2);
  asked.export_key = Pick(random, Keys());
  const auto destination = [&random] {
    if (OneIn(random, 10)) return std::string();
    const std::string& listed = Pick(random, kDestinations);
    return OneIn(random, 3) ? Lower(listed) : listed;
  };
  asked.destination = destination();
  asked.other_destination = destination();
  return asked;
}

// Returns the request that `asked` describes, or null if no value rule applies to the method.
std::unique_ptr<google::protobuf::Message> RequestOf(const Asked& asked) {
  const GuardedMethod* method = FindGuarded(asked.method);
  if (method == nullptr) return nullptr;
  std::string fields;
  switch (method->guarded) {
    case Guarded::kAmount: {
      const char* const chain = asked.chain == "eip155:1"     ? "EARN_CHAIN_EIP155_1"
                                : asked.chain == "eip155:137" ? "EARN_CHAIN_EIP155_137"
                                                              : "EARN_CHAIN_UNSPECIFIED";
      fields = absl::StrCat(method->field, ": '", asked.amount, "' wrapper_address: '", asked.contract,
                            "' chain_caip2: ", chain);
      break;
    }
    case Guarded::kExportKey:
      fields = absl::StrCat(method->field, ": '", asked.export_key.hex, "'");
      break;
    case Guarded::kDangerous:
      fields = absl::StrCat(method->field, ": ", asked.dangerous);
      break;
    case Guarded::kDangerousText:
      if (asked.dangerous) fields = absl::StrCat(method->field, ": 'text'");
      break;
    case Guarded::kDestination:
      fields = absl::StrCat(method->field, ": '", asked.destination, "'");
      break;
  }
  const std::string& name = asked.method;
  return testing::MessageOf(absl::StrCat("stampgate.v1.", name.substr(name.find('/') + 1), "Request"),
                            absl::Substitute(method->request, fields, asked.other_destination));
}

// Adds leading zeros to a number, so that numbers compare correctly as text.
std::string Padded(const std::string& digits) { return std::string(80 - digits.size(), '0') + digits; }

bool HasAmount(const config::v1::Grant& grant, const Asked& asked) {
  if (grant.amount_limits().empty()) return true;
  const bool number = std::find(kAmounts.begin(), kAmounts.end(), asked.amount) != kAmounts.end();
  if (!number && asked.amount != "MAX") return false;
  for (const config::v1::AmountLimit& limit : grant.amount_limits()) {
    if (limit.chain() != asked.chain) continue;
    if (!limit.contract().empty() && Lower(limit.contract()) != Lower(asked.contract)) continue;
    if (limit.max_amount().empty()) return true;
    if (number && Padded(asked.amount) <= Padded(limit.max_amount())) return true;
  }
  return false;
}

bool HasExportKey(const config::v1::Grant& grant, const Asked& asked) {
  if (grant.export_public_keys().empty()) return true;
  for (const std::string& hex : grant.export_public_keys()) {
    for (const KeySpelling& known : Keys()) {
      if (known.hex == hex && known.key == asked.export_key.key) return true;
    }
  }
  return false;
}

bool HasDestination(const config::v1::Grant& grant, const std::string& stated) {
  if (grant.destinations().empty()) return true;
  for (const std::string& listed : grant.destinations()) {
    if (listed == stated || (listed.starts_with("0x") && Lower(listed) == Lower(stated))) return true;
  }
  return false;
}

bool HasValues(const config::v1::Grant& grant, const Asked& asked) {
  const GuardedMethod* method = FindGuarded(asked.method);
  if (method == nullptr) return true;
  if (absl::StrContains(method->request, "$1") && !HasDestination(grant, asked.other_destination)) return false;
  switch (method->guarded) {
    case Guarded::kAmount:
      return HasAmount(grant, asked);
    case Guarded::kExportKey:
      return HasExportKey(grant, asked);
    case Guarded::kDestination:
      return HasDestination(grant, asked.destination);
    case Guarded::kDangerous:
    case Guarded::kDangerousText:
      break;
  }
  const auto& named = grant.dangerous_fields();
  return !asked.dangerous || std::find(named.begin(), named.end(), method->field) != named.end();
}

// Whether a class of `grant` covers the method with these rights.
bool HasClass(const config::v1::Grant& grant, const ExpectedRights& rights, const std::string& as_of) {
  if (rights.internal || rights.since > as_of) return false;
  for (const auto& [name, number] : ClassNames()) {
    if (rights.policy_class != name) continue;
    for (const int granted : grant.classes()) {
      if (granted == number) return true;
    }
  }
  return false;
}

bool Allows(const config::v1::Grant& grant, const Asked& asked, const std::string& as_of) {
  bool method = false;
  if (asked.general) {
    for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
      if (operation.path() == asked.path && operation.activity_type() == asked.type) method = true;
    }
  } else {
    const ExpectedRights& rights = AllExpectedRights().at(asked.method);
    if (rights.moves_unread_amount && !grant.amount_limits().empty()) return false;
    if (rights.moves_to_unread_destination && !grant.destinations().empty()) return false;
    for (const std::string& name : grant.methods()) {
      if (name == asked.method || name == "stampgate.v1." + asked.method) method = true;
    }
    method = method || HasClass(grant, rights, as_of);
  }
  bool organization = grant.all_organizations();
  for (const std::string& id : grant.organizations()) {
    if (id == asked.organization_id) organization = true;
  }
  return method && organization && HasValues(grant, asked);
}

// Returns the key of the first grant that allows the question, or nullopt if no grant allows it.
std::optional<std::string> Expected(const config::v1::Caller& caller, const Asked& asked, const std::string& as_of) {
  for (const config::v1::Grant& grant : caller.grants()) {
    if (Allows(grant, asked, as_of)) return grant.key();
  }
  return std::nullopt;
}

Caller::Decision Decide(const Caller& caller, const Asked& asked) {
  const std::string method = "/stampgate.v1." + asked.method;
  const auto request = RequestOf(asked);
  Question question;
  question.method = method;
  question.organization_id = asked.organization_id;
  std::optional<testing::Parsed> parsed;
  if (request != nullptr) question.request = &*parsed.emplace(*request);
  question.general = asked.general;
  question.general_path = asked.path;
  question.general_type = asked.type;
  return caller.Decide(question);
}

config::v1::Caller RandomCaller(Random& random) {
  config::v1::Caller caller;
  for (size_t i = random() % 4; i > 0; --i) *caller.add_grants() = RandomGrant(random);
  return caller;
}

// Returns whether a field of a request with the type `message`, or a field inside it, has a guard.
bool HasGuard(const google::protobuf::Descriptor* message, std::set<const google::protobuf::Descriptor*>& visited) {
  if (!visited.insert(message).second) return false;
  for (int i = 0; i < message->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = message->field(i);
    if (field->options().GetExtension(v1::field).guard() != v1::FIELD_GUARD_UNSPECIFIED) return true;
    if (field->message_type() != nullptr && HasGuard(field->message_type(), visited)) return true;
  }
  return false;
}

TEST(PolicyPropertyTest, TheQuestionsUseEveryMethodWithAValueThatAGrantCanLimit) {
  std::vector<std::string> guarded;
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
    std::set<const google::protobuf::Descriptor*> visited;
    if (HasGuard(method.method->input_type(), visited)) guarded.push_back(method.full_name);
  }
  std::vector<std::string> expected;
  for (const GuardedMethod& method : GuardedMethods()) {
    expected.push_back(absl::StrCat("/stampgate.v1.", method.name));
  }
  EXPECT_THAT(guarded, ::testing::UnorderedElementsAreArray(expected));
}

#ifdef STAMPGATE_SANITIZED
constexpr int kRounds = 5'000;
#else
constexpr int kRounds = 25'000;
#endif

TEST(PolicyPropertyTest, EveryDecisionMatchesTheConfig) {
  Random random(20240703);
  int asked_in_all = 0;
  std::map<std::string, int> allowed;
  std::map<std::string, int> denied;
  for (int round = 0; round < kRounds; ++round) {
    const config::v1::Caller config = RandomCaller(random);
    const std::string& as_of = Pick(random, Days());
    const Caller caller(config, *OperationSet::BuiltIn(), as_of);
    for (int i = 0; i < 20; ++i, ++asked_in_all) {
      const Asked asked = RandomQuestion(random, config);
      const std::optional<std::string> expected = Expected(config, asked, as_of);
      const Caller::Decision decision = Decide(caller, asked);
      ASSERT_EQ(decision.allowed, expected.has_value())
          << config.DebugString() << "as of '" << as_of << "': " << asked.method << " for " << asked.organization_id
          << ": " << decision.why;
      ASSERT_EQ(decision.key, expected.value_or(""));
      ASSERT_EQ(decision.why.empty(), decision.allowed);
      ++(decision.allowed ? allowed : denied)[asked.method];
    }
  }
  EXPECT_EQ(asked_in_all, 20 * kRounds);
  // Every method must be both allowed and denied often. Otherwise a policy that always gives the same decision would
  // pass.
  for (const auto& [method, unused] : AllExpectedRights()) {
    EXPECT_GT(allowed[method], kRounds / 1000) << method;
    EXPECT_GT(denied[method], kRounds / 1000) << method;
  }
  EXPECT_GT(allowed["GeneralService/QueryOperation"], kRounds / 1000);
  EXPECT_GT(allowed["GeneralService/SubmitOperation"], kRounds / 1000);
}

TEST(PolicyPropertyTest, RemovingAGrantAllowsNothingMore) {
  Random random(20240704);
  int lost = 0;
  for (int round = 0; round < kRounds / 6; ++round) {
    config::v1::Caller config = RandomCaller(random);
    if (config.grants().empty()) continue;
    const std::string& as_of = Pick(random, Days());
    const Caller before(config, *OperationSet::BuiltIn(), as_of);
    config.mutable_grants()->DeleteSubrange(static_cast<int>(random() % config.grants_size()), 1);
    const Caller after(config, *OperationSet::BuiltIn(), as_of);
    for (int i = 0; i < 20; ++i) {
      const Asked asked = RandomQuestion(random, config);
      const bool was = Decide(before, asked).allowed;
      const bool is = Decide(after, asked).allowed;
      ASSERT_TRUE(was || !is) << asked.method;
      lost += was && !is;
    }
  }
  EXPECT_GT(lost, kRounds / 50);
}

}  // namespace
}  // namespace stampgate
