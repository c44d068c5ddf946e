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

std::vector<std::string> DescribeGrants(const config::v1::Caller& caller, const OperationSet& operations) {
  std::vector<std::string> lines;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const Grant compiled(grant, operations);
    lines.push_back(absl::StrCat("grant ", i + 1, ": ", DescribeOrganizations(grant), DescribeRules(grant)));
    for (const ApiMethod& method : operations.methods()) {
      if (!compiled.HasMethod(method.full_name)) continue;
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
