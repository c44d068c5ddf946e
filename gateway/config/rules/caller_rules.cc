#include "gateway/config/rules/caller_rules.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gateway/callers/peer_names.h"
#include "gateway/config/settings/nearest_name.h"
#include "gateway/config/settings/organizations_file.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/policy/grant.h"
#include "gateway/policy/guard_rules.h"
#include "gateway/policy/method_name.h"
#include "gateway/policy/p256_point.h"
#include "gateway/tokens/key_set_url.h"
#include "gateway/upstream/ca_certificates.h"
#include "translate/amount.h"
#include "translate/general_operation.h"
#include "translate/operation_set/date.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

template <typename Allowed>
bool ConsistsOf(absl::string_view text, Allowed allowed) {
  return !text.empty() && absl::c_all_of(text, allowed);
}

bool IsSha256(absl::string_view text) { return text.size() == 64 && absl::c_all_of(text, absl::ascii_isxdigit); }

// Whether `text` is the address of a contract: "0x" and 20 bytes in hex.
bool IsContract(absl::string_view text) {
  return absl::ConsumePrefix(&text, "0x") && text.size() == 40 && absl::c_all_of(text, absl::ascii_isxdigit);
}

// Whether `text` can be a destination. The check finds mistakes such as a space in an address, but it does not know the
// forms of the addresses of all chains.
bool IsDestination(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "0x")) return ConsistsOf(text, absl::ascii_isxdigit);
  return !absl::StartsWith(text, "0X") && ConsistsOf(text, absl::ascii_isgraph);
}

// Checks that no value is used twice.
class Owners {
 public:
  // Records that the setting `path` uses `value`. If another setting already uses `value`, reports a fault at `path`
  // and returns false.
  bool Claim(const std::string& value, const std::string& path, ConfigReport& report) {
    const auto [first, added] = owners_.emplace(value, path);
    if (!added) report.Add(path, absl::StrCat("is already used by ", first->second));
    return added;
  }

 private:
  std::map<std::string, std::string> owners_;  // for each value, the path of the setting that uses it
};

std::string NoMethod(const OperationSet& operations, const std::string& name) {
  std::vector<absl::string_view> names;
  for (const ApiMethod& method : operations.methods()) {
    const absl::string_view full = absl::StripPrefix(method.full_name, "/");
    names.push_back(absl::StripPrefix(full, "stampgate.v1."));
    names.push_back(full);
  }
  const absl::string_view nearest = NearestName(name, names);
  if (nearest.empty()) return "is not a method: write a name such as PolicyService/GetPolicy";
  return absl::StrCat("is not a method; did you mean ", nearest, "?");
}

class CallerCheck {
 public:
  CallerCheck(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report)
      : config_(config), operations_(operations), report_(report) {}

  void Run() {
    for (int i = 0; i < config_.callers_size(); ++i) Check(config_.callers(i), absl::StrCat("callers[", i, "]"));
  }

 private:
  void Check(const config::v1::Caller& caller, const std::string& path) {
    if (!IsConfigName(caller.name())) report_.Add(path + ".name", "must consist of a-z, 0-9 and -");
    names_.Claim(caller.name(), path + ".name", report_);
    CheckIdentities(caller, path);
    CheckTokens(caller, path);
    WarnOfCaller(caller, path);
    for (int i = 0; i < caller.grants_size(); ++i) {
      CheckGrant(caller.grants(i), absl::StrCat(path, ".grants[", i, "]"));
    }
    // This check comes last, because a fault at `path` hides faults in the fields of `path`.
    if (caller.spiffe_ids().empty() && caller.dns_names().empty() && !caller.loopback()) {
      report_.Add(path, "needs one of spiffe_ids, dns_names and loopback");
    }
  }

  void CheckIdentities(const config::v1::Caller& caller, const std::string& path) {
    const bool plain = caller.token_sha256().empty() && !caller.has_token();
    // Several callers with tokens can share an identity, because the token decides which of them calls. Of the callers
    // with the same identity, at most one may need no token.
    const auto claim = [&](const std::string& identity, const std::string& identity_path) {
      if (plain) identities_.Claim(identity, identity_path, report_);
    };
    for (int i = 0; i < caller.spiffe_ids_size(); ++i) {
      const std::string id_path = absl::StrCat(path, ".spiffe_ids[", i, "]");
      if (!IsSpiffeId(caller.spiffe_ids(i))) {
        report_.Add(id_path, "must be an exact SPIFFE ID, such as spiffe://example.org/payments");
      }
      claim(caller.spiffe_ids(i), id_path);
    }
    for (int i = 0; i < caller.dns_names_size(); ++i) {
      const std::string name_path = absl::StrCat(path, ".dns_names[", i, "]");
      if (!IsDnsName(caller.dns_names(i))) report_.Add(name_path, "must be an exact DNS name");
      claim(absl::AsciiStrToLower(caller.dns_names(i)), name_path);
    }
    if (caller.loopback()) claim("loopback", path + ".loopback");
  }

  void CheckTokens(const config::v1::Caller& caller, const std::string& path) {
    for (int i = 0; i < caller.token_sha256_size(); ++i) {
      const std::string digest_path = absl::StrCat(path, ".token_sha256[", i, "]");
      if (!IsSha256(caller.token_sha256(i))) report_.Add(digest_path, "must be 64 hex digits");
      tokens_.Claim(absl::AsciiStrToLower(caller.token_sha256(i)), digest_path, report_);
    }
    if (!caller.has_token()) return;
    if (!caller.token_sha256().empty()) report_.Add(path + ".token", "cannot be given together with token_sha256");
    if (absl::c_none_of(config_.token_issuers(),
                        [&](const auto& issuer) { return issuer.name() == caller.token().issuer(); })) {
      report_.Add(path + ".token.issuer", "is not the name of a token issuer");
    }
    for (int i = 0; i < caller.token().subjects_size(); ++i) {
      tokens_.Claim(absl::StrCat(caller.token().issuer(), " ", caller.token().subjects(i)),
                    absl::StrCat(path, ".token.subjects[", i, "]"), report_);
    }
  }

  void WarnOfCaller(const config::v1::Caller& caller, const std::string& path) {
    if (caller.grants().empty()) report_.Warn(path, "has no grants: every call of this caller is refused");
  }

  void CheckGrant(const config::v1::Grant& grant, const std::string& path) {
    for (int i = 0; i < grant.methods_size(); ++i) {
      const std::string method_path = absl::StrCat(path, ".methods[", i, "]");
      const ApiMethod* method = FindApiMethod(operations_.set(), grant.methods(i));
      if (method == nullptr) {
        report_.Add(method_path, NoMethod(operations_.set(), grant.methods(i)));
      } else if (method->general) {
        report_.Add(method_path, "must be granted with general_operations, one operation at a time");
      } else if (const absl::string_view rule = UncheckedRule(grant, *method); !rule.empty()) {
        report_.Add(method_path, absl::StrCat("cannot be checked against ", rule, ": use a separate grant for it"));
      }
    }
    for (int i = 0; i < grant.classes_size(); ++i) {
      if (grant.classes(i) == v1::POLICY_CLASS_UNSPECIFIED) {
        report_.Add(absl::StrCat(path, ".classes[", i, "]"), "must be query, login, write, dangerous or events");
      }
    }
    CheckGeneral(grant, path);
    CheckRules(grant, path);
    if (grant.methods().empty() && grant.classes().empty() && grant.general_operations().empty()) {
      report_.Add(path, "needs at least one of methods, classes and general_operations");
    }
    CheckOrganizations(grant, path);
    CheckIdempotencyKeys(grant, path);
    WarnOfClasses(grant, path);
    WarnOfEvents(grant, path);
  }

  void CheckIdempotencyKeys(const config::v1::Grant& grant, const std::string& path) {
    if (!grant.require_idempotency_key()) return;
    if (!config_.has_store()) {
      report_.Add(path + ".require_idempotency_key",
                  "needs store: without a store the gateway refuses every idempotency_key");
    } else if (!AllowsSubmits(grant)) {
      report_.Warn(path + ".require_idempotency_key", "has no effect: the grant allows no submit");
    }
  }

  bool AllowsSubmits(const config::v1::Grant& grant) const {
    const Grant compiled(grant, operations_.set(), config_.class_grants_as_of());
    return absl::c_any_of(operations_.set().methods(),
                          [&](const ApiMethod& method) {
                            return method.kind == v1::OPERATION_KIND_SUBMIT && compiled.HasMethod(method.full_name);
                          }) ||
           absl::c_any_of(grant.general_operations(), [](const auto& each) { return !each.activity_type().empty(); });
  }

  void WarnOfClasses(const config::v1::Grant& grant, const std::string& path) {
    for (int i = 0; i < grant.classes_size(); ++i) {
      const std::string text = DescribeUnsetDay(operations_.set(), static_cast<v1::PolicyClass>(grant.classes(i)),
                                                config_.class_grants_as_of());
      if (!text.empty()) report_.Warn(absl::StrCat(path, ".classes[", i, "]"), text);
    }
  }

  // Warns of each granted local method if no event log is configured. The method then returns EVENTS_NOT_CONFIGURED to
  // every caller.
  void WarnOfEvents(const config::v1::Grant& grant, const std::string& path) {
    constexpr absl::string_view kNoLog = "has no effect: without store there is no event log";
    if (config_.has_store() || !config_.events().file().empty()) return;
    for (int i = 0; i < grant.methods_size(); ++i) {
      const ApiMethod* method = FindApiMethod(operations_.set(), grant.methods(i));
      if (method == nullptr || method->kind != v1::OPERATION_KIND_LOCAL) continue;
      report_.Warn(absl::StrCat(path, ".methods[", i, "]"), kNoLog);
    }
    for (int i = 0; i < grant.classes_size(); ++i) {
      if (grant.classes(i) == v1::POLICY_CLASS_EVENTS) report_.Warn(absl::StrCat(path, ".classes[", i, "]"), kNoLog);
    }
  }

  void WarnOfOperation(const config::v1::GeneralOperation& operation, const std::string& path) {
    if (const Operation* carried = CarriedBy(operation)) {
      report_.Warn(
          path, absl::StrCat("works only in this release and the next: the operation has a method of its own: grant ",
                             PolicyNameOf(carried->full_name)));
      return;
    }
    constexpr absl::string_view kTyped =
        "has no effect: it belongs to an operation that has a method of its own: grant that method";
    if (operations_.ListsPathSegment(operation.path())) report_.Warn(path + ".path", kTyped);
    if (operations_.ListsActivityType(operation.activity_type())) report_.Warn(path + ".activity_type", kTyped);
  }

  // Returns the operation that GeneralService carries for a call with the path and type of `named`, or null.
  const Operation* CarriedBy(const config::v1::GeneralOperation& named) const {
    for (const Operation& operation : operations_.operations()) {
      if (!operation.general || operation.is_submit() == named.activity_type().empty()) continue;
      return FindCarried(operations_, operation, named.path(), named.activity_type());
    }
    return nullptr;
  }

  void CheckGeneral(const config::v1::Grant& grant, const std::string& path) {
    for (int i = 0; i < grant.general_operations_size(); ++i) {
      const config::v1::GeneralOperation& operation = grant.general_operations(i);
      const std::string operation_path = absl::StrCat(path, ".general_operations[", i, "]");
      if (!ConsistsOf(operation.path(),
                      [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; })) {
        report_.Add(operation_path + ".path", "must consist of a-z, 0-9 and _");
      }
      absl::string_view type = operation.activity_type();
      if (!type.empty() && (!absl::ConsumePrefix(&type, "ACTIVITY_TYPE_") || !ConsistsOf(type, [](char c) {
            return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_';
          }))) {
        report_.Add(operation_path + ".activity_type", "must be ACTIVITY_TYPE_ and then A-Z, 0-9 and _");
      }
      WarnOfOperation(operation, operation_path);
    }
    const bool has_rules =
        !grant.amount_limits().empty() || !grant.export_public_keys().empty() || !grant.destinations().empty();
    if (has_rules && !grant.general_operations().empty()) {
      report_.Add(path + ".general_operations",
                  "cannot be checked against amount_limits, export_public_keys or destinations: use a separate grant "
                  "for them");
    }
  }

  void CheckOrganizations(const config::v1::Grant& grant, const std::string& path) {
    const int given = (grant.organizations().empty() ? 0 : 1) + (grant.all_organizations() ? 1 : 0) +
                      (grant.organizations_file().empty() ? 0 : 1);
    if (given > 1) {
      report_.Add(
          path + ".organizations",
          "conflicts with another field: give only one of organizations, organizations_file and all_organizations");
    }
    if (given == 0 && ConcernsOrganizations(grant)) {
      report_.Add(path, "needs one of organizations, organizations_file and all_organizations");
    }
    for (int i = 0; i < grant.organizations_size(); ++i) {
      if (!IsOrganizationId(grant.organizations(i))) {
        report_.Add(absl::StrCat(path, ".organizations[", i, "]"),
                    "must be an exact id: letters, digits, '.', '_', ':' and '-'");
      }
    }
    if (grant.key().empty()) return WarnOfOrganizations(grant, path);
    const auto key = absl::c_find_if(config_.keys(), [&](const auto& entry) { return entry.name() == grant.key(); });
    if (key == config_.keys().end()) return report_.Add(path + ".key", "is not the name of a key");
    if (key->all_organizations()) return;
    if (given > 0 && grant.organizations().empty()) {
      return report_.Add(path + ".key", "signs only for the organizations that it lists: list them in this grant too");
    }
    for (int i = 0; i < grant.organizations_size(); ++i) {
      if (absl::c_linear_search(key->organizations(), grant.organizations(i))) continue;
      report_.Add(absl::StrCat(path, ".organizations[", i, "]"),
                  "is an organization for which the grant's key does not sign");
    }
  }

  void WarnOfOrganizations(const config::v1::Grant& grant, const std::string& path) {
    if (!LeadsToSignatures(grant, operations_.set())) return;
    for (int i = 0; i < grant.organizations_size(); ++i) {
      if (absl::c_any_of(config_.keys(), [&](const config::v1::Key& key) {
            return key.all_organizations() || absl::c_linear_search(key.organizations(), grant.organizations(i));
          })) {
        continue;
      }
      report_.Warn(
          absl::StrCat(path, ".organizations[", i, "]"),
          "is an organization for which no key signs: the gateway can send only calls with a client's own stamp");
    }
  }

  // Whether the grant must name organizations. This is not needed if every method of the grant has a request without an
  // organization_id, such as a discovery.
  bool ConcernsOrganizations(const config::v1::Grant& grant) const {
    return !grant.classes().empty() || !grant.general_operations().empty() ||
           absl::c_any_of(grant.methods(), [this](const std::string& name) {
             const ApiMethod* method = FindApiMethod(operations_.set(), name);
             return method != nullptr && (method->kind == v1::OPERATION_KIND_LOCAL ||
                                          method->method->input_type()->FindFieldByName("organization_id") != nullptr);
           });
  }

  void CheckRules(const config::v1::Grant& grant, const std::string& path) {
    for (int i = 0; i < grant.amount_limits_size(); ++i) {
      const config::v1::AmountLimit& limit = grant.amount_limits(i);
      const std::string limit_path = absl::StrCat(path, ".amount_limits[", i, "]");
      if (!limit.contract().empty() && !IsContract(limit.contract())) {
        report_.Add(limit_path + ".contract", "must be 0x and 40 hex digits");
      }
      if (!limit.max_amount().empty() &&
          (!IsAmount(limit.max_amount()) || !absl::ascii_isdigit(limit.max_amount()[0]))) {
        report_.Add(limit_path + ".max_amount", "must be decimal digits without a leading zero");
      }
      if (limit.max_amount().empty()) report_.Warn(limit_path, "has no max_amount, so it allows any amount, also MAX");
    }
    for (int i = 0; i < grant.dangerous_fields_size(); ++i) {
      if (IsDangerousField(operations_.set(), grant.dangerous_fields(i))) continue;
      report_.Add(absl::StrCat(path, ".dangerous_fields[", i, "]"), "is not the name of a dangerous field");
    }
    for (int i = 0; i < grant.export_public_keys_size(); ++i) {
      if (DecodeExportKey(grant.export_public_keys(i)).has_value()) continue;
      report_.Add(absl::StrCat(path, ".export_public_keys[", i, "]"), "must be a public key of P-256 in hex");
    }
    for (int i = 0; i < grant.destinations_size(); ++i) {
      if (IsDestination(grant.destinations(i))) continue;
      report_.Add(absl::StrCat(path, ".destinations[", i, "]"),
                  "must be an address or a public key: visible ASCII characters, and after 0x hex digits only");
    }
  }

  const config::v1::Config& config_;
  const OperationTable& operations_;
  ConfigReport& report_;
  Owners names_;
  Owners identities_;
  Owners tokens_;
};

}  // namespace

bool IsConfigName(absl::string_view text) {
  return ConsistsOf(text, [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; });
}

bool LeadsToSignatures(const config::v1::Grant& grant, const OperationSet& operations) {
  return !grant.general_operations().empty() ||
         absl::c_any_of(grant.classes(), [](int each) { return each != v1::POLICY_CLASS_EVENTS; }) ||
         absl::c_any_of(grant.methods(), [&operations](const std::string& name) {
           const ApiMethod* method = FindApiMethod(operations, name);
           return method != nullptr && method->kind != v1::OPERATION_KIND_LOCAL;
         });
}

void CheckTokenIssuers(const config::v1::Config& config, ConfigReport& report) {
  Owners names;
  Owners issuers;
  for (int i = 0; i < config.token_issuers_size(); ++i) {
    const config::v1::TokenIssuer& issuer = config.token_issuers(i);
    const std::string path = absl::StrCat("token_issuers[", i, "]");
    if (!IsConfigName(issuer.name())) report.Add(path + ".name", "must consist of a-z, 0-9 and -");
    names.Claim(issuer.name(), path + ".name", report);
    issuers.Claim(issuer.issuer(), path + ".issuer", report);  // the issuer in a token decides which keys verify it
    if (issuer.jwks_url().empty() == issuer.jwks_file().empty()) {
      report.Add(path, "needs jwks_url or jwks_file, and not both");
    }
    if (!issuer.jwks_url().empty()) {
      const absl::Status status = ParseKeySetUrl(issuer.jwks_url()).status();
      if (!status.ok()) report.Add(path + ".jwks_url", status.message());
    }
    if (!issuer.ca_file().empty() && issuer.jwks_url().empty()) {
      report.Add(path + ".ca_file", "can be given only with jwks_url");
    }
  }
}

void CheckClassGrants(const config::v1::Config& config, const OperationSet& operations, ConfigReport& report) {
  constexpr char kPath[] = "class_grants_as_of";
  const std::string& as_of = config.class_grants_as_of();
  if (as_of.empty()) return;
  const std::string& newest = operations.newest_since();
  if (!IsDate(as_of)) {
    report.Add(kPath, "must be a day, such as 2026-09-22");
  } else if (newest.empty()) {
    report.Add(kPath, "must not be given: no operation of this gateway has a day");
  } else if (as_of > newest) {
    // A later day would cover operations that nobody has seen yet.
    report.Add(kPath, absl::StrCat("must not be later than the newest operation, which is of ", newest));
  }
}

void CheckCallers(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report) {
  CallerCheck(config, operations, report).Run();
}

absl::Status CheckCaFile(const absl::StatusOr<std::string>& pem) {
  return pem.ok() ? CheckCaCertificates(*pem) : pem.status();
}

std::vector<std::optional<TokenKeySet>> ParseKeySets(const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report) {
  std::vector<std::optional<TokenKeySet>> key_sets(config.token_issuers_size());
  for (int i = 0; i < config.token_issuers_size(); ++i) {
    const config::v1::TokenIssuer& issuer = config.token_issuers(i);
    const std::string path = absl::StrCat("token_issuers[", i, "]");
    if (!issuer.jwks_file().empty()) {
      const absl::StatusOr<std::string>& json = contents.Public(issuer.jwks_file());
      absl::StatusOr<TokenKeySet> key_set = json.ok() ? TokenKeySet::Parse(*json) : json.status();
      if (key_set.ok()) {
        key_sets[i] = *std::move(key_set);
      } else {
        report.Add(path + ".jwks_file", key_set.status().message());
      }
    }
    if (issuer.ca_file().empty()) continue;
    const absl::Status status = CheckCaFile(contents.Public(issuer.ca_file()));
    if (!status.ok()) report.Add(path + ".ca_file", status.message());
  }
  return key_sets;
}

}  // namespace stampgate
