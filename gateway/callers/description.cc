#include "gateway/callers/description.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/policy/grant.h"
#include "gateway/policy/method_name.h"

namespace stampgate {
namespace {

using Organizations = std::shared_ptr<const OrganizationIds>;

constexpr size_t kShown = 5;

// Returns the first of `all` ids.
std::string Some(std::vector<std::string> ids, size_t all) {
  if (ids.size() > kShown) ids.resize(kShown);
  std::string text = absl::StrJoin(ids, ", ");
  if (all > ids.size()) absl::StrAppend(&text, " and ", all - ids.size(), " more");
  return text;
}

std::string DescribeOrganizations(const config::v1::Grant& grant, const Organizations& of_file) {
  if (grant.all_organizations()) return "all organizations";
  if (!grant.organizations().empty()) {
    return Some({grant.organizations().begin(), grant.organizations().end()},
                static_cast<size_t>(grant.organizations_size()));
  }
  if (grant.organizations_file().empty()) return "no organization";
  if (of_file == nullptr) return absl::StrCat("those in ", grant.organizations_file());
  std::vector<std::string> ids;
  of_file->ForEach([&ids](absl::string_view id) {
    if (ids.size() < kShown) ids.emplace_back(id);
  });
  return ids.empty() ? "no organization" : Some(std::move(ids), of_file->size());
}

Organizations OfGrant(const std::vector<Organizations>& of_files, int grant) {
  const auto number = static_cast<size_t>(grant);
  return number < of_files.size() ? of_files[number] : nullptr;
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

std::string DescribeGrant(const config::v1::Grant& grant, int index, const Organizations& of_file) {
  return absl::StrCat("grant ", index + 1, ": ", DescribeOrganizations(grant, of_file), DescribeRules(grant));
}

std::string DescribeMethod(const ApiMethod& method) {
  return absl::StrCat("  ", PolicyNameOf(method.full_name), " (", ClassNameOf(method.policy_class), ")");
}

}  // namespace

std::vector<std::string> DescribeGrants(const config::v1::Caller& caller, const OperationSet& operations,
                                        absl::string_view class_grants_as_of,
                                        const std::vector<Organizations>& of_files) {
  std::vector<std::string> lines;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const Grant compiled(grant, operations, class_grants_as_of);
    lines.push_back(DescribeGrant(grant, i, OfGrant(of_files, i)));
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
                                       absl::string_view class_grants_as_of,
                                       const std::vector<Organizations>& of_files) {
  std::vector<std::string> lines;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    const Grant now(grant, operations, class_grants_as_of);
    const Grant later(grant, operations, operations.newest_since());
    bool gains = false;
    for (const ApiMethod& method : operations.methods()) {
      if (now.HasMethod(method.full_name) || !later.HasMethod(method.full_name)) continue;
      if (!gains) lines.push_back(DescribeGrant(grant, i, OfGrant(of_files, i)));
      gains = true;
      lines.push_back(DescribeMethod(method));
    }
  }
  return lines;
}

}  // namespace stampgate
