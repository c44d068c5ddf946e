#include "gateway/callers/caller.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/policy/method_name.h"

namespace stampgate {
Caller::Caller(const config::v1::Caller& caller, const OperationSet& operations, absl::string_view class_grants_as_of,
               const std::vector<std::shared_ptr<const OrganizationIds>>& of_files)
    : name_(caller.name()),
      weight_(caller.has_weight() ? caller.weight() : 1),
      token_issuer_(caller.token().issuer()),
      token_subjects_(caller.token().subjects().begin(), caller.token().subjects().end()),
      has_token_(caller.has_token()),
      class_grants_as_of_(class_grants_as_of) {
  for (const std::string& hex : caller.token_sha256()) {
    std::array<uint8_t, 32>& digest = token_digests_.emplace_back();
    const std::string bytes = DecodeHex(hex).value_or("");
    std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  }
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const auto number = static_cast<size_t>(i);
    grants_.emplace_back(grant, operations, class_grants_as_of, number < of_files.size() ? of_files[number] : nullptr);
    has_general_operations_ = has_general_operations_ || !grant.general_operations().empty();
  }
  for (const ApiMethod& method : operations.methods()) {
    if (method.kind != v1::OPERATION_KIND_LOCAL) continue;
    for (const Grant& grant : grants_) {
      if (!grant.HasMethod(method.full_name)) continue;
      OrganizationSet& set = local_organizations_[method.full_name];
      set.all = set.all || grant.organizations().all;
      set.parts.insert(set.parts.end(), grant.organizations().parts.begin(), grant.organizations().parts.end());
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
  return token_issuer_ == issuer && absl::c_linear_search(token_subjects_, subject);
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
      return {false, "", "no grant has this method for this organization", closest.fit};
    default:
      return {false, "", std::move(closest.why), closest.fit};
  }
}

std::string Caller::ExplainMissing(const ApiMethod& method) const {
  const std::string class_name = ClassNameOf(method.policy_class);
  if (absl::c_any_of(grants_, [&](const Grant& grant) { return grant.HasClassOf(method); })) {
    return absl::StrCat("a grant has class ", class_name, ", but ", ExplainUncovered(method, class_grants_as_of_));
  }
  const Coverage coverage = CoverageOf(method, class_grants_as_of_);
  // A class would be enough, now or with a later day.
  if (coverage == Coverage::kCovered || coverage == Coverage::kNotAccepted) {
    return absl::StrCat("no grant has class ", class_name, " or names the method");
  }
  return ExplainUncovered(method, class_grants_as_of_);
}

const OrganizationSet& Caller::OrganizationsOf(absl::string_view method) const {
  static const auto& none = *new OrganizationSet();
  const auto found = local_organizations_.find(method);
  return found == local_organizations_.end() ? none : found->second;
}

}  // namespace stampgate
