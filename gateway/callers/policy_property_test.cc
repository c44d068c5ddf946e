// Compares 100,000 random decisions of the gateway with the decisions of a second, independent implementation of the
// rules in config.proto. This implementation searches the whole config for each question.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/callers/caller.h"
#include "gateway/policy/testing.h"
#include "translate/json/reader.h"
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
// Returns the class of every method except the methods of GeneralService. The classes in
// tests/vectors/policy_classes.json are chosen by hand.
std::map<std::string, std::string> ReadClasses() {
  std::map<std::string, std::string> classes;
  std::ifstream in("tests/vectors/policy_classes.json");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const absl::Status status = ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      classes.emplace(name, value.string().value());
      return absl::OkStatus();
    });
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(classes.empty());
  return classes;
}
const std::map<std::string, std::string>& Classes() {
  static const auto& classes = *new std::map<std::string, std::string>(ReadClasses());
  return classes;
}
std::vector<std::string> Methods() {
  std::vector<std::string> methods;
  for (const auto& [name, unused] : Classes()) methods.push_back(name);
  // Adds four more copies of each method that has value rules, so that a random choice picks them more often.
  for (int i = 0; i < 4; ++i) {
    methods.insert(methods.end(), {"EarnService/EarnWithdraw", "OrganizationService/DeleteSubOrganization",
                                   "WalletService/ExportWalletAccount"});
  }
  return methods;
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
const std::vector<std::string> kPaths = {"init_otp", "whoami"};
const std::vector<std::string> kTypes = {"", "ACTIVITY_TYPE_INIT_OTP", "ACTIVITY_TYPE_INIT_OTP_V3"};
const std::vector<std::string> kChains = {"eip155:1", "eip155:137"};
const std::vector<std::string> kContracts = {"0x00000000000000000000000000000000000000aa",
                                             "0x00000000000000000000000000000000000000BB"};
const std::vector<std::string> kAmounts = {
    "0", "9", "10", "11", "100", "99999999999999999999", "100000000000000000000"};

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
  if (OneIn(random, 2)) grant.add_dangerous_fields("delete_without_export");
  for (size_t i = OneIn(random, 2) ? random() % 3 : 0; i > 0; --i) {
    const KeySpelling& key = Pick(random, Keys());
    if (key.key != 0) grant.add_export_public_keys(key.hex);
  }
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
  bool without_export = false;
  KeySpelling export_key;
};

Asked RandomQuestion(Random& random) {
  Asked asked;
  asked.organization_id = Pick(random, Organizations());
  asked.general = OneIn(random, 5);
  if (asked.general) {
    asked.path = Pick(random, kPaths);
    asked.type = Pick(random, kTypes);
    asked.method = asked.type.empty() ? "GeneralService/QueryOperation" : "GeneralService/SubmitOperation";
    return asked;
  }
  asked.method = Pick(random, Methods());
  asked.amount = OneIn(random, 8)   ? "MAX"
                 : OneIn(random, 8) ? Pick(random, std::vector<std::string>{"", "01", "-1", "max", "1e2"})
                                    : Pick(random, kAmounts);
  asked.chain = OneIn(random, 10) ? "" : Pick(random, kChains);
  asked.contract = Pick(random, kContracts);
  if (OneIn(random, 2))
    std::transform(asked.contract.begin() + 2, asked.contract.end(), asked.contract.begin() + 2, tolower);
  asked.without_export = OneIn(random, 2);
  asked.export_key = Pick(random, Keys());
  return asked;
}

// Returns the request that `asked` describes, or null if no value rule applies to the method.
std::unique_ptr<google::protobuf::Message> RequestOf(const Asked& asked) {
  if (asked.method == "EarnService/EarnWithdraw") {
    const char* const chain = asked.chain == "eip155:1"     ? "EARN_CHAIN_EIP155_1"
                              : asked.chain == "eip155:137" ? "EARN_CHAIN_EIP155_137"
                                                            : "EARN_CHAIN_UNSPECIFIED";
    return testing::MessageOf("stampgate.v1.EarnWithdrawRequest",
                              absl::StrCat("parameters {amount_value: '", asked.amount, "' wrapper_address: '",
                                           asked.contract, "' chain_caip2: ", chain, "}"));
  }
  if (asked.method == "OrganizationService/DeleteSubOrganization") {
    return testing::MessageOf("stampgate.v1.DeleteSubOrganizationRequest",
                              absl::StrCat("parameters {delete_without_export: ", asked.without_export, "}"));
  }
  if (asked.method == "WalletService/ExportWalletAccount") {
    return testing::MessageOf("stampgate.v1.ExportWalletAccountRequest",
                              absl::StrCat("parameters {target_public_key: '", asked.export_key.hex, "'}"));
  }
  return nullptr;
}

// Adds leading zeros to a number, so that numbers compare correctly as text.
std::string Padded(const std::string& digits) { return std::string(80 - digits.size(), '0') + digits; }

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), tolower);
  return text;
}

bool HasValues(const config::v1::Grant& grant, const Asked& asked) {
  if (asked.method == "EarnService/EarnWithdraw" && grant.amount_limits_size() > 0) {
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
  if (asked.method == "OrganizationService/DeleteSubOrganization") {
    return !asked.without_export || grant.dangerous_fields_size() > 0;
  }
  if (asked.method == "WalletService/ExportWalletAccount" && grant.export_public_keys_size() > 0) {
    for (const std::string& hex : grant.export_public_keys()) {
      for (const KeySpelling& known : Keys()) {
        if (known.hex == hex && known.key == asked.export_key.key) return true;
      }
    }
    return false;
  }
  return true;
}

bool Allows(const config::v1::Grant& grant, const Asked& asked) {
  bool method = false;
  if (asked.general) {
    for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
      if (operation.path() == asked.path && operation.activity_type() == asked.type) method = true;
    }
  } else {
    for (const std::string& name : grant.methods()) {
      if (name == asked.method || name == "stampgate.v1." + asked.method) method = true;
    }
    for (const auto& [name, number] : ClassNames()) {
      if (Classes().at(asked.method) != name) continue;
      for (const int granted : grant.classes()) {
        if (granted == number) method = true;
      }
    }
  }
  bool organization = grant.all_organizations();
  for (const std::string& id : grant.organizations()) {
    if (id == asked.organization_id) organization = true;
  }
  return method && organization && HasValues(grant, asked);
}

// Returns the key of the first grant that allows the question, or nullopt if no grant allows it.
std::optional<std::string> Expected(const config::v1::Caller& caller, const Asked& asked) {
  for (const config::v1::Grant& grant : caller.grants()) {
    if (Allows(grant, asked)) return grant.key();
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

TEST(PolicyPropertyTest, EveryDecisionMatchesTheConfig) {
  Random random(20240703);
  int asked_in_all = 0;
  std::map<std::string, int> allowed;
  std::map<std::string, int> denied;
  for (int round = 0; round < 5000; ++round) {
    const config::v1::Caller config = RandomCaller(random);
    const Caller caller(config, *OperationSet::BuiltIn());
    for (int i = 0; i < 20; ++i, ++asked_in_all) {
      const Asked asked = RandomQuestion(random);
      const std::optional<std::string> expected = Expected(config, asked);
      const Caller::Decision decision = Decide(caller, asked);
      ASSERT_EQ(decision.allowed, expected.has_value())
          << config.DebugString() << asked.method << " for " << asked.organization_id << ": " << decision.why;
      ASSERT_EQ(decision.key, expected.value_or(""));
      ASSERT_EQ(decision.why.empty(), decision.allowed);
      ++(decision.allowed ? allowed : denied)[asked.method];
    }
  }
  EXPECT_EQ(asked_in_all, 100000);
  // Every method must be both allowed and denied often. Otherwise a policy that always gives the same decision would
  // pass.
  for (const auto& [method, unused] : Classes()) {
    EXPECT_GT(allowed[method], 100) << method;
    EXPECT_GT(denied[method], 100) << method;
  }
  EXPECT_GT(allowed["GeneralService/QueryOperation"], 100);
  EXPECT_GT(allowed["GeneralService/SubmitOperation"], 100);
}

TEST(PolicyPropertyTest, RemovingAGrantAllowsNothingMore) {
  Random random(20240704);
  int lost = 0;
  for (int round = 0; round < 2000; ++round) {
    config::v1::Caller config = RandomCaller(random);
    if (config.grants().empty()) continue;
    const Caller before(config, *OperationSet::BuiltIn());
    config.mutable_grants()->DeleteSubrange(static_cast<int>(random() % config.grants_size()), 1);
    const Caller after(config, *OperationSet::BuiltIn());
    for (int i = 0; i < 20; ++i) {
      const Asked asked = RandomQuestion(random);
      const bool was = Decide(before, asked).allowed;
      const bool is = Decide(after, asked).allowed;
      ASSERT_TRUE(was || !is) << asked.method;
      lost += was && !is;
    }
  }
  EXPECT_GT(lost, 500);
}

}  // namespace
}  // namespace stampgate
