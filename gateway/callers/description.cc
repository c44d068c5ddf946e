#include "gateway/callers/description.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/policy/grant.h"
#include "gateway/policy/method_name.h"

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
    absl::StrAppend(&text, limit.max_amount().empty() ? ", any amount on " : ", amounts on ", limit.chain(), " of ",
                    limit.contract().empty() ? "any" : limit.contract(), limit.max_amount().empty() ? "" : " up to ",
                    limit.max_amount());
  }
  if (!grant.dangerous_fields().empty()) {
    absl::StrAppend(&text, ", with ", absl::StrJoin(grant.dangerous_fields(), ", "));
  }
  if (!grant.export_public_keys().empty()) {
    absl::StrAppend(&text, ", exports to ", grant.export_public_keys_size(), " keys only");
  }
  if (!grant.destinations().empty()) {
    absl::StrAppend(&text, ", assets to ", absl::StrJoin(grant.destinations(), ", "), " only");
  }
  if (grant.require_idempotency_key()) absl::StrAppend(&text, ", submits only with an idempotency_key");
  return text;
}

std::string DescribeGrant(const config::v1::Grant& grant, int index) {
  return absl::StrCat("grant ", index + 1, ": ", DescribeOrganizations(grant), DescribeRules(grant));
}

std::string DescribeMethod(const ApiMethod& method) {
  return absl::StrCat("  ", PolicyNameOf(method.full_name), " (", ClassNameOf(method.policy_class), ")");
}

}  // namespace

std::vector<std::string> DescribeGrants(const config::v1::Caller& caller, const OperationSet& operations,
                                        absl::string_view class_grants_as_of) {
  std::vector<std::string> lines;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const Grant compiled(grant, operations, class_grants_as_of);
    lines.push_back(DescribeGrant(grant, i));
    for (const ApiMethod& method : operations.methods()) {
      if (compiled.HasMethod(method.full_name)) lines.push_back(DescribeMethod(method));
    }
    for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
      lines.push_back(absl::StrCat("  GeneralService: ", operation.path(),
                                   operation.activity_type().empty() ? " (query)" : " as ", operation.activity_type()));
    }
  }
  if (lines.empty()) lines.push_back("nothing");
  return lines;
}

std::vector<std::string> DescribeGains(const config::v1::Caller& caller, const OperationSet& operations,
                                       absl::string_view class_grants_as_of) {
  std::vector<std::string> lines;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const Grant now(grant, operations, class_grants_as_of);
    const Grant later(grant, operations, operations.newest_since());
    bool gains = false;
    for (const ApiMethod& method : operations.methods()) {
      if (now.HasMethod(method.full_name) || !later.HasMethod(method.full_name)) continue;
      if (!gains) lines.push_back(DescribeGrant(grant, i));
      gains = true;
      lines.push_back(DescribeMethod(method));
    }
  }
  return lines;
}

}  // namespace stampgate
