#include "gateway/config/config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/http/listen_address.h"
#include "base/http/tls_files.h"
#include "base/postgres/server_address.h"
#include "base/secret/file_contents.h"
#include "base/secret/symmetric_key.h"
#include "base/time/duration.h"
#include "gateway/config/rules/caller_rules.h"
#include "gateway/config/rules/fault_report.h"
#include "gateway/config/rules/field_rules.h"
#include "gateway/config/rules/member_names.h"
#include "gateway/config/rules/memory_rules.h"
#include "gateway/config/rules/operation_files.h"
#include "gateway/config/rules/subscription_rules.h"
#include "gateway/config/rules/telemetry_rules.h"
#include "gateway/config/rules/webhook_rules.h"
#include "gateway/config/settings/defaults.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/settings/organizations_file.h"
#include "gateway/config/settings/yaml_reader.h"
#include "gateway/upstream/base_url.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/verifying_signer.h"

namespace stampgate {
namespace {

template <typename Allowed>
bool ConsistsOf(absl::string_view text, Allowed allowed) {
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

void CheckListenAddress(const config::v1::Config& config, ConfigReport& report) {
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(config.listen_address());
  if (!address.ok()) {
    report.Add("listen_address", "must be address:port, such as 127.0.0.1:7443");
  } else if (!IsLoopbackIp(address->ip)) {
    if (!config.has_tls()) {
      report.Add("listen_address",
                 "must be 127.x.x.x, [::1] or localhost without tls: plaintext is refused on other addresses");
    } else if (config.audit().file().empty()) {
      report.Add("listen_address", "must be 127.x.x.x, [::1] or localhost without audit.file");
    }
  }
}

void CheckTls(const config::v1::Config& config, ConfigReport& report) {
  if (!config.has_tls()) return;
  const config::v1::Tls& tls = config.tls();
  if (tls.certificate_file().empty()) report.Add("tls.certificate_file", "is required with tls");
  if (tls.private_key_file().empty()) report.Add("tls.private_key_file", "is required with tls");
  if (tls.client_ca_file().empty()) report.Add("tls.client_ca_file", "is required with tls");
}

absl::Status CheckTlsContents(const TlsFiles& files, const ConfigSnapshot& snapshot) {
  ABSL_ASSIGN_OR_RETURN(const TlsSnapshot tls, MakeTlsSnapshot(files, snapshot.contents));
  return CheckTlsSnapshot(tls, files, snapshot.now).status();
}

void CheckCallerTls(const config::v1::Config& config, const ConfigSnapshot& snapshot, ConfigReport& report) {
  if (!config.has_tls() || report.IsFaulty("tls") || report.IsFaulty("tls.certificate_file") ||
      report.IsFaulty("tls.private_key_file") || report.IsFaulty("tls.client_ca_file")) {
    return;
  }
  const absl::Status status = CheckTlsContents(FilesOf(config), snapshot);
  if (!status.ok()) report.Add("tls", absl::StrCat("cannot be used: ", status.message()));
}

void CheckStoreKey(const config::v1::Store& store, const FileContents& contents, ConfigReport& report) {
  const std::string& file = store.postgresql().key_file();
  if (file.empty() || report.IsFaulty("store.postgresql.key_file")) return;
  const absl::Status status = ParseSymmetricKey(file, contents.Secret(file)).status();
  if (!status.ok()) report.Add("store.postgresql.key_file", status.message());
}

void CheckAuditKey(const config::v1::Audit& audit, const FileContents& contents, ConfigReport& report) {
  if (audit.key_file().empty() || report.IsFaulty("audit.key_file")) return;
  const absl::Status status = ParseSymmetricKey(audit.key_file(), contents.Secret(audit.key_file())).status();
  if (!status.ok()) report.Add("audit.key_file", status.message());
}

void CheckAudit(const config::v1::Audit& audit, ConfigReport& report) {
  if (audit.file().empty() == audit.key_file().empty()) return;
  report.Add(audit.file().empty() ? "audit.file" : "audit.key_file",
             "is required: audit.file and audit.key_file must be given together");
}

void CheckAdmin(const config::v1::Admin& admin, ConfigReport& report) {
  if (admin.listen_address().empty() || ParseListenAddress(admin.listen_address()).ok()) return;
  report.Add("admin.listen_address", "must be address:port, such as 0.0.0.0:8081");
}

void CheckBaseUrl(const std::string& url, ConfigReport& report) {
  const absl::Status status = ParseBaseUrl(url).status();
  if (!status.ok()) report.Add("upstream.base_url", absl::StripPrefix(status.message(), "base_url "));
}

void CheckOperatorName(config::v1::Config& config, ConfigReport& report) {
  const std::string& name = config.operator_name();
  if (ConsistsOf(name, absl::ascii_isalnum) && absl::ascii_isalpha(name[0])) return;
  report.Add("operator_name", "must be a letter, then letters and digits");
  // The next checks need the operations, whose names in JSON contain this name.
  config.clear_operator_name();
  SetDefaults(config);
}

void CheckEvents(const config::v1::Events& events, ConfigReport& report) {
  if (report.IsFaulty("events.retention_age")) return;
  if (ToDuration(events.deduplication_age()) < ToDuration(events.retention_age())) {
    report.Add("events.deduplication_age", absl::StrCat("must not be below retention_age, which is ",
                                                        absl::FormatDuration(ToDuration(events.retention_age()))));
  }
}

bool IsLocal(const std::string& host) { return absl::StartsWith(host, "/") || IsLoopbackIp(host); }

void CheckPostgresqlHosts(const config::v1::PostgresqlStore& store, ConfigReport& report) {
  constexpr int kMost = 8;
  for (int i = 0; i < store.hosts_size(); ++i) {
    const std::string path = absl::StrCat("store.postgresql.hosts[", i, "]");
    const absl::StatusOr<std::pair<std::string, std::string>> host = SplitHostAndPort(store.hosts(i));
    if (!host.ok()) {
      report.Add(path, host.status().message());
    } else if (store.plaintext() && !IsLocal(host->first)) {
      report.Add(path, "must be a loopback address or a Unix socket, because plaintext is true");
    }
  }
  if (store.hosts_size() > kMost) report.Add("store.postgresql.hosts", absl::StrCat("must be no more than ", kMost));
}

void CheckPostgresqlStore(const config::v1::Config& config, ConfigReport& report) {
  const config::v1::PostgresqlStore& store = config.store().postgresql();
  CheckPostgresqlHosts(store, report);
  if (!absl::ascii_islower(store.schema()[0]) || !ConsistsOf(store.schema(), [](char c) {
        return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
      })) {
    report.Add("store.postgresql.schema", "must be a lower-case letter, and then lower-case letters, digits and '_'");
  }
  if (store.plaintext() != store.ca_file().empty()) {
    report.Add("store.postgresql.ca_file", "must be given if, and only if, plaintext is not true");
  }
  if (store.certificate_file().empty() != store.private_key_file().empty()) {
    report.Add("store.postgresql.certificate_file",
               "is required: certificate_file and private_key_file must be given together");
  }
  if (!config.events().file().empty()) {
    report.Add("events.file", "must not be given: the event log is in store.postgresql");
  }
}

void CheckStore(const config::v1::Config& config, ConfigReport& report) {
  if (!config.has_store()) return;
  if (config.store().has_sqlite() == config.store().has_postgresql()) {
    report.Add("store", "must have either sqlite or postgresql");
  } else if (config.store().has_postgresql()) {
    CheckPostgresqlStore(config, report);
  }
}

void CheckWebhookTls(const config::v1::Webhooks& webhooks, const ConfigSnapshot& snapshot, ConfigReport& report) {
  if (webhooks.tls_certificate_file().empty() || webhooks.tls_private_key_file().empty()) return;
  const absl::Status status =
      CheckTlsContents({webhooks.tls_certificate_file(), webhooks.tls_private_key_file()}, snapshot);
  if (!status.ok()) report.Add("webhooks.tls_certificate_file", absl::StrCat("cannot be used: ", status.message()));
}

void CheckUpstreamCa(const config::v1::Upstream& upstream, const FileContents& contents, ConfigReport& report) {
  if (upstream.ca_file().empty()) return;
  const absl::Status status = CheckCaFile(contents.Public(upstream.ca_file()));
  if (!status.ok()) report.Add("upstream.ca_file", status.message());
}

void CheckUpstream(const config::v1::Upstream& upstream, ConfigReport& report) {
  CheckBaseUrl(upstream.base_url(), report);
  if (upstream.http2()) report.Add("upstream.http2", "is no longer supported: remove it");
}

void CheckCalls(const config::v1::Calls& calls, ConfigReport& report) {
  if (report.IsFaulty("calls.max_deadline")) return;
  if (ToDuration(calls.default_deadline()) > ToDuration(calls.max_deadline())) {
    report.Add("calls.default_deadline", absl::StrCat("must not be above max_deadline, which is ",
                                                      absl::FormatDuration(ToDuration(calls.max_deadline()))));
  }
}

void CheckActivities(const config::v1::Activities& activities, ConfigReport& report) {
  if (report.IsFaulty("activities.poll_interval") || report.IsFaulty("activities.max_poll_interval")) return;
  if (ToDuration(activities.max_poll_interval()) < ToDuration(activities.poll_interval())) {
    report.Add("activities.max_poll_interval",
               absl::StrCat("must not be below poll_interval, which is ",
                            absl::FormatDuration(ToDuration(activities.poll_interval()))));
  }
}

bool IsOperationName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "submit/") && !absl::ConsumePrefix(&name, "query/")) return false;
  return !name.empty() && name.size() <= 64 &&
         absl::c_all_of(name, [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
}

void CheckAdmission(const config::v1::Admission& admission, ConfigReport& report) {
  std::set<std::string> names;
  for (int i = 0; i < admission.organizations_size(); ++i) {
    const std::string path = absl::StrCat("admission.organizations[", i, "]");
    if (!names.insert(admission.organizations(i).organization()).second) {
      report.Add(path + ".organization", "must not be given twice");
    }
  }
}

// More entries than this are not a few operations that upstream limits apart. Each of them is a rate that several
// gateways divide with each renewal.
constexpr int kMaxOperationRates = 64;

// Warns of an operation that no method and no grant has, instead of refusing it: a reload may remove the last grant of
// an operation of GeneralService.
void CheckOperationRates(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report) {
  const auto& entries = config.admission().operation_rates();
  if (entries.size() > kMaxOperationRates) {
    report.Add("admission.operation_rates", absl::StrCat("must have at most ", kMaxOperationRates, " entries"));
  }
  std::set<std::string> known;
  for (const Operation& operation : operations.operations()) {
    if (!operation.general) known.insert(operation.path);
  }
  for (const config::v1::Caller& caller : config.callers()) {
    for (const config::v1::Grant& grant : caller.grants()) {
      for (const config::v1::GeneralOperation& general : grant.general_operations()) {
        known.insert(OperationPath((general.activity_type().empty() ? "query/" : "submit/") + general.path()));
      }
    }
  }
  std::set<std::string> given;
  for (int i = 0; i < entries.size(); ++i) {
    const std::string path = absl::StrCat("admission.operation_rates[", i, "]");
    for (int n = 0; n < entries[i].operations_size(); ++n) {
      const std::string& name = entries[i].operations(n);
      const std::string name_path = absl::StrCat(path, ".operations[", n, "]");
      if (!IsOperationName(name)) {
        report.Add(name_path, "must be submit/ or query/ and 1 to 64 characters of a-z, 0-9 and _");
      } else if (!given.insert(name).second) {
        report.Add(name_path, "must not be given twice");
      } else if (known.count(OperationPath(name)) == 0) {
        report.Warn(name_path, "is the name of no method's operation, and no grant lists it: its rates limit nothing");
      }
    }
  }
}

void CheckReplica(const config::v1::Config& config, ConfigReport& report) {
  const config::v1::Replica& replica = config.replica();
  if (report.IsFaulty("replica.count")) return;
  if (config.store().has_postgresql() && (replica.index() != 0 || replica.count() != 1)) {
    report.Add("replica", "must not be given with store.postgresql, which gives each gateway its timestamps");
  }
  if (replica.index() >= replica.count()) report.Add("replica.index", "must be below count");
}

void CheckKey(const config::v1::Key& key, const std::string& path, ConfigReport& report) {
  if (!IsConfigName(key.name())) {
    report.Add(path + ".name", "must consist of a-z, 0-9 and -");
  }
  if (HoldsKey(key.file())) {
    report.Add(path + ".file", "contains a key: write the name of the file that contains the key");
  }
  const size_t digits = key.public_key().size();
  if (digits > 0 && ((digits != 64 && digits != 66) || !ConsistsOf(key.public_key(), absl::ascii_isxdigit))) {
    report.Add(path + ".public_key", "must be 66 hex digits, or 64 for Ed25519");
  }
}

void CheckKeyOrganizations(const config::v1::Key& key, const std::string& path, ConfigReport& report) {
  std::set<absl::string_view> known;
  for (int i = 0; i < key.organizations_size(); ++i) {
    const std::string id_path = absl::StrCat(path, ".organizations[", i, "]");
    if (!IsOrganizationId(key.organizations(i))) {
      report.Add(id_path, "must be an exact id: letters, digits, '.', '_', ':' and '-'");
    } else if (!known.insert(key.organizations(i)).second) {
      report.Add(id_path, "is given twice");
    }
  }
  if (report.IsFaulty(path + ".all_organizations")) return;
  if (key.all_organizations() == !key.organizations().empty()) {
    report.Add(path + ".organizations", "must be given if, and only if, all_organizations is not true");
  }
}

void CheckKeys(const google::protobuf::RepeatedPtrField<config::v1::Key>& keys, ConfigReport& report) {
  std::map<std::string, std::string> named;  // for each name, the path of the key that has it
  for (int i = 0; i < keys.size(); ++i) {
    const std::string path = absl::StrCat("keys[", i, "]");
    CheckKey(keys[i], path, report);
    if (const auto [first, added] = named.emplace(keys[i].name(), path); !added) {
      report.Add(path + ".name", absl::StrCat("is already the name of ", first->second));
    }
    CheckKeyOrganizations(keys[i], path, report);
  }
}

absl::StatusOr<std::shared_ptr<const Signer>> SignerOf(const config::v1::Key& key, const FileContents& contents) {
  ABSL_ASSIGN_OR_RETURN(PrivateKey secret, ParseKeyFile(key.file(), contents.Secret(key.file())));
  absl::StatusOr<std::shared_ptr<const Signer>> signer = MakeSigner(std::move(secret));
  if (!signer.ok() || !key.verify_signatures()) return signer;
  return MakeVerifyingSigner(*std::move(signer));
}

// Returns the signers of all keys, in the order of the keys. A key with a fault has no signer in the list. The gateway
// does not use the list if there is any fault.
std::vector<std::shared_ptr<const Signer>> MakeSigners(const config::v1::Config& config, const FileContents& contents,
                                                       ConfigReport& report) {
  std::vector<std::shared_ptr<const Signer>> signers;
  for (int i = 0; i < config.keys_size(); ++i) {
    const std::string path = absl::StrCat("keys[", i, "]");
    if (report.IsFaulty(path + ".file")) continue;
    const config::v1::Key& key = config.keys(i);
    absl::StatusOr<std::shared_ptr<const Signer>> signer = SignerOf(key, contents);
    if (!signer.ok()) {
      report.Add(path + ".file", signer.status().message());
      continue;
    }
    if (!key.public_key().empty() && !absl::EqualsIgnoreCase(key.public_key(), (*signer)->public_key_hex())) {
      report.Add(path + ".public_key", "is not the public key of the key in the file");
    }
    signers.push_back(*std::move(signer));
  }
  return signers;
}

OrganizationsUse UseOf(ConfigFiles files, const Config* in_force) {
  if (files == ConfigFiles::kPolicy) return OrganizationsUse::kReview;
  return in_force == nullptr ? OrganizationsUse::kStart : OrganizationsUse::kReload;
}

OrganizationsInForce InForceOf(const Config* config) {
  if (config == nullptr) return {};
  return {&**config, &config->organizations()};
}

}  // namespace

std::string OperationPath(absl::string_view name) { return absl::StrCat("/public/v1/", name); }

std::string CallStoreFile(const config::v1::Config& config) {
  if (!config.store().has_sqlite()) return "";
  return (std::filesystem::path(config.store().sqlite().folder()) / "calls.db").string();
}

TlsFiles FilesOf(const config::v1::Config& config) {
  const config::v1::Tls& tls = config.tls();
  return {tls.certificate_file(), tls.private_key_file(), tls.client_ca_file(), SecretOwnersOf(config)};
}

absl::StatusOr<ParsedConfig> ParseConfig(const ConfigSnapshot& snapshot, OperationSet::Shared set,
                                         const Config* in_force) {
  const absl::StatusOr<std::string>& text = snapshot.contents.Public(snapshot.path);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(snapshot.path, ": ", text.status().message()));
  config::v1::Config config;
  SetDefaults(config);
  Locations locations;
  std::vector<Fault> faults = ReadYaml(*text, &config, &locations);
  ConfigReport report(snapshot.path, std::move(faults), std::move(locations));
  CheckFields(config, report);
  SetDefaults(config);  // of the messages that the text has added
  CheckListenAddress(config, report);
  CheckTls(config, report);
  if (!config.has_reflection()) config.set_reflection(!config.has_tls());
  CheckAudit(config.audit(), report);
  CheckAdmin(config.admin(), report);
  CheckOperatorName(config, report);
  CheckKeys(config.keys(), report);
  CheckUpstream(config.upstream(), report);
  CheckActivities(config.activities(), report);
  CheckCalls(config.calls(), report);
  CheckAdmission(config.admission(), report);
  CheckReplica(config, report);
  CheckStore(config, report);
  CheckEvents(config.events(), report);
  CheckWebhooks(config, report);
  CheckMemory(config, report);
  CheckTelemetry(config, report);
  CheckTokenIssuers(config, report);
  std::shared_ptr<const OperationTable> operations =
      ReadOperations(std::move(set), snapshot.path, config, snapshot.contents, report);
  CheckClassGrants(config, operations->set(), report);
  CheckMemberNames(config, *operations, report);
  CheckCallers(config, *operations, report);
  CheckOperationRates(config, *operations, report);
  // The checks above use the file names as the config contains them. The checks below use the contents of the files.
  ResolveFiles(snapshot.path, config);
  const FileContents& contents = snapshot.contents;
  if (snapshot.files == ConfigFiles::kAll) {
    CheckUpstreamCa(config.upstream(), contents, report);
    CheckWebhookTls(config.webhooks(), snapshot, report);
    CheckCallerTls(config, snapshot, report);
    CheckAuditKey(config.audit(), contents, report);
    CheckStoreKey(config.store(), contents, report);
    CheckTelemetryFiles(config, contents, report);
  }
  std::vector<std::shared_ptr<const Signer>> signers;
  std::vector<std::optional<TokenKeySet>> key_sets;
  if (snapshot.files != ConfigFiles::kPolicy) {
    ReadWebhookPaths(contents, *config.mutable_webhooks(), report);
    signers = MakeSigners(config, contents, report);
    key_sets = ParseKeySets(config, contents, report);
  }
  GrantOrganizations organizations = FindGrantOrganizations(
      config, snapshot.organizations, UseOf(snapshot.files, in_force), InForceOf(in_force), report);
  CheckSubscriptions(config, operations->set(), organizations.ids, report);
  if (in_force != nullptr) CompareSubscriptions(**in_force, config, report);
  ABSL_RETURN_IF_ERROR(report.ToStatus());
  return ParsedConfig{Config(std::move(config), std::move(operations), std::move(organizations), report.Warnings()),
                      std::move(signers), std::move(key_sets)};
}

}  // namespace stampgate
