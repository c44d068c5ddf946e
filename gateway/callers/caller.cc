#include "gateway/callers/caller.h"

#include <sodium.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/policy/method.h"

namespace stampgate {
namespace {

std::string DescribeOrganizations(const config::v1::Grant& grant) {
  if (grant.all_organizations()) return "all organizations";
  if (grant.organizations().empty()) {
    return grant.organizations_file().empty() ? "no organization"
                                              : absl::StrCat("those in ", grant.organizations_file());
  }
  constexpr int kShown = 5;
  std::string text = absl::StrJoin(grant.organizations().begin(),
                                   grant.organizations().begin() + std::min(kShown, grant.organizations_size()), ", ");
  if (grant.organizations_size() > kShown)
    absl::StrAppend(&text, " and ", grant.organizations_size() - kShown, " more");
  return text;
}

std::string DescribeRules(const config::v1::Grant& grant) {
  std::string text;
  if (!grant.key().empty()) absl::StrAppend(&text, ", key ", grant.key());
  for (const config::v1::AmountLimit& limit : grant.amount_limits()) {
    absl::StrAppend(&text, ", amounts on ", limit.chain(), " of ", limit.contract().empty() ? "any" : limit.contract(),
                    limit.max_amount().empty() ? "" : " up to ", limit.max_amount());
  }
  if (!grant.dangerous_fields().empty()) {
    absl::StrAppend(&text, ", with ", absl::StrJoin(grant.dangerous_fields(), ", "));
  }
  if (!grant.export_public_keys().empty()) {
    absl::StrAppend(&text, ", exports to ", grant.export_public_keys_size(), " keys only");
  }
  return text;
}

}  // namespace

Caller::Caller(const config::v1::Caller& caller) : config_(caller) {
  for (const std::string& hex : caller.token_sha256()) {
    std::array<uint8_t, 32>& digest = token_digests_.emplace_back();
    const std::string bytes = absl::HexStringToBytes(hex);
    std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  }
  for (const config::v1::Grant& grant : caller.grants()) grants_.emplace_back(grant);
  for (const PolicedMethod& method : PolicedMethods()) {
    for (const Grant& grant : grants_) {
      if (!grant.HasMethod(method.full_name)) continue;
      OrganizationSet& set = organizations_[method.full_name];
      set.all = set.all || grant.organizations().all;
      set.ids.insert(grant.organizations().ids.begin(), grant.organizations().ids.end());
    }
  }
}

bool Caller::HasToken(const std::array<uint8_t, 32>& digest) const {
  bool found = false;
  for (const std::array<uint8_t, 32>& own : token_digests_) {
    found = (sodium_memcmp(own.data(), digest.data(), own.size()) == 0) | found;
  }
  return found;
}

bool Caller::HasSubject(absl::string_view issuer, absl::string_view subject) const {
  return config_.token().issuer() == issuer && absl::c_linear_search(config_.token().subjects(), subject);
}

Caller::Decision Caller::Decide(const Question& question) const {
  Grant::Answer closest;
  for (const Grant& grant : grants_) {
    Grant::Answer answer = grant.Ask(question);
    if (answer.fit == Grant::Fit::kAllowed) return {true, grant.key(), ""};
    if (answer.fit > closest.fit) closest = std::move(answer);
  }
  switch (closest.fit) {
    case Grant::Fit::kNotTheMethod:
      return {false, "", question.general ? "no grant has this path and activity type" : "no grant has this method"};
    case Grant::Fit::kNotTheOrganization:
      return {false, "", "no grant has this method for this organization"};
    default:
      return {false, "", std::move(closest.why)};
  }
}

bool Caller::has_general_operations() const {
  return absl::c_any_of(config_.grants(), [](const auto& grant) { return !grant.general_operations().empty(); });
}

const OrganizationSet& Caller::OrganizationsOf(absl::string_view method) const {
  static const auto& none = *new OrganizationSet();
  const auto found = organizations_.find(method);
  return found == organizations_.end() ? none : found->second;
}

std::vector<std::string> Caller::Describe() const {
  std::vector<std::string> lines;
  for (int i = 0; i < config_.grants_size(); ++i) {
    const config::v1::Grant& grant = config_.grants(i);
    lines.push_back(absl::StrCat("grant ", i + 1, ": ", DescribeOrganizations(grant), DescribeRules(grant)));
    for (const PolicedMethod& method : PolicedMethods()) {
      if (!grants_[i].HasMethod(method.full_name)) continue;
      lines.push_back(absl::StrCat("  ", PolicyNameOf(method.full_name), " (", ClassNameOf(method), ")"));
    }
    for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
      lines.push_back(absl::StrCat("  GeneralService: ", operation.path(),
                                   operation.activity_type().empty() ? " (query)" : " as ", operation.activity_type()));
    }
  }
  if (lines.empty()) lines.push_back("nothing");
  return lines;
}

}  // namespace stampgate
