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
#include "base/http/address_blocks.h"
#include "base/http/listen_address.h"
#include "base/http/tls_files.h"
#include "base/postgres/server_address.h"
#include "base/secret/file_contents.h"
#include "base/secret/symmetric_key.h"
#include "gateway/config/caller_rules.h"
#include "gateway/config/duration.h"
#include "gateway/config/duration_range.h"
#include "gateway/config/fault_report.h"
#include "gateway/config/memory_rules.h"
#include "gateway/config/named_files.h"
#include "gateway/config/operation_files.h"
#include "gateway/config/organizations_file.h"
#include "gateway/config/telemetry_rules.h"
#include "gateway/config/yaml_reader.h"
#include "gateway/upstream/base_url.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/time_util.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/verifying_signer.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;

constexpr char kDefaultOperatorName[] = "Service";

config::v1::Config Defaults() {
  config::v1::Config config;
  config.set_listen_address("127.0.0.1:7443");
  config.set_operator_name(kDefaultOperatorName);
  config::v1::Upstream& upstream = *config.mutable_upstream();
  *upstream.mutable_connect_timeout() = TimeUtil::SecondsToDuration(5);
  *upstream.mutable_exchange_timeout() = TimeUtil::SecondsToDuration(30);
  upstream.set_max_connections(64);
  upstream.set_max_detached(32);
  *upstream.mutable_max_idle() = TimeUtil::SecondsToDuration(50);
  upstream.set_max_response_bytes(8 << 20);
  upstream.set_http2(false);
  upstream.set_forward_traceparent(false);
  config::v1::Calls& calls = *config.mutable_calls();
  *calls.mutable_default_deadline() = TimeUtil::SecondsToDuration(15);
  *calls.mutable_max_deadline() = TimeUtil::SecondsToDuration(30);
  calls.set_max_request_bytes(1 << 20);
  *calls.mutable_drain_grace() = TimeUtil::SecondsToDuration(25);
  config::v1::Connections& connections = *config.mutable_connections();
  connections.set_max(4096);
  connections.set_max_per_identity(512);
  connections.set_max_handshakes(256);
  *connections.mutable_handshake_timeout() = TimeUtil::SecondsToDuration(5);
  connections.set_max_streams(1024);
  connections.set_max_header_bytes(8192);
  connections.set_max_resets_per_second(500);
  connections.set_max_control_frames_per_second(500);
  calls.set_max_in_flight(8192);
  calls.set_max_in_flight_per_caller(1024);
  config::v1::Activities& activities = *config.mutable_activities();
  activities.set_max_waiting(4096);
  *activities.mutable_max_wait() = TimeUtil::MinutesToDuration(10);
  *activities.mutable_poll_interval() = TimeUtil::SecondsToDuration(2);
  *activities.mutable_max_poll_interval() = TimeUtil::SecondsToDuration(30);
  activities.set_max_polls_per_second(2);
  config.mutable_log()->set_level(config::v1::LOG_LEVEL_INFO);
  config.mutable_log()->set_calls(false);
  config.mutable_replica()->set_index(0);
  config.mutable_replica()->set_count(1);
  config::v1::Events& events = *config.mutable_events();
  *events.mutable_retention_age() = TimeUtil::HoursToDuration(168);
  events.set_retention_bytes(uint64_t{10} << 30);
  *events.mutable_deduplication_age() = TimeUtil::HoursToDuration(720);
  *events.mutable_heartbeat_interval() = TimeUtil::SecondsToDuration(15);
  events.set_max_subscribers(1000);
  events.set_max_subscribers_per_caller(250);
  config::v1::Webhooks& webhooks = *config.mutable_webhooks();
  webhooks.set_max_body_bytes(4 << 20);
  webhooks.set_max_connections(256);
  webhooks.set_min_bytes_per_second(16 << 10);
  *webhooks.mutable_request_timeout() = TimeUtil::SecondsToDuration(15);
  *webhooks.mutable_idle_timeout() = TimeUtil::SecondsToDuration(60);
  *webhooks.mutable_max_timestamp_age() = TimeUtil::MinutesToDuration(5);
  *webhooks.mutable_min_key_set_interval() = TimeUtil::SecondsToDuration(10);
  config::v1::Admission& admission = *config.mutable_admission();
  *admission.mutable_max_wait() = TimeUtil::MillisecondsToDuration(200);
  admission.set_retries(true);
  admission.set_breaker(true);
  config.mutable_audit()->set_max_file_bytes(uint64_t{256} << 20);
  *config.mutable_reload_interval() = TimeUtil::SecondsToDuration(5);
  return config;
}

void CheckNumber(uint64_t value, const v1::FieldRule& rule, const std::string& path, ConfigReport& report) {
  if (rule.has_minimum() && rule.has_maximum() && (value < rule.minimum() || value > rule.maximum())) {
    report.Add(path, absl::StrCat("must be from ", rule.minimum(), " to ", rule.maximum()));
  } else if (rule.has_minimum() && value < rule.minimum()) {
    report.Add(path, absl::StrCat("must be at least ", rule.minimum()));
  } else if (rule.has_maximum() && value > rule.maximum()) {
    report.Add(path, absl::StrCat("must be at most ", rule.maximum()));
  }
}

void CheckText(absl::string_view value, const v1::FieldRule& rule, const std::string& path, ConfigReport& report) {
  if (rule.has_max_bytes() && value.size() > rule.max_bytes()) {
    report.Add(path, absl::StrCat("must be no longer than ", rule.max_bytes(), " bytes"));
  }
}

bool IsEmptyListOrText(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) == 0;
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && reflection.GetString(message, &field).empty();
}

// Checks the rules that the annotations in config.proto state.
void CheckFields(const Message& message, const std::string& prefix, ConfigReport& report) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const v1::FieldRule& rule = field->options().GetExtension(v1::field);
    const std::string path = absl::StrCat(prefix, field->name());
    const int size = field->is_repeated()                  ? reflection.FieldSize(message, field)
                     : reflection.HasField(message, field) ? 1
                                                           : 0;
    if (size == 0 && rule.required()) report.Add(path, "is required");
    if (IsEmptyListOrText(message, *field) && !rule.may_be_empty() && report.IsGiven(path)) {
      report.Add(path, "must not be empty: omit it to use its default");
    }
    for (int n = 0; n < size; ++n) {
      const bool repeated = field->is_repeated();
      const std::string value_path = repeated ? absl::StrCat(path, "[", n, "]") : path;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_UINT32:
          CheckNumber(repeated ? reflection.GetRepeatedUInt32(message, field, n) : reflection.GetUInt32(message, field),
                      rule, value_path, report);
          break;
        case FieldDescriptor::CPPTYPE_UINT64:
          CheckNumber(repeated ? reflection.GetRepeatedUInt64(message, field, n) : reflection.GetUInt64(message, field),
                      rule, value_path, report);
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          CheckText(repeated ? reflection.GetRepeatedString(message, field, n) : reflection.GetString(message, field),
                    rule, value_path, report);
          break;
        case FieldDescriptor::CPPTYPE_MESSAGE:
          CheckFields(
              repeated ? reflection.GetRepeatedMessage(message, field, n) : reflection.GetMessage(message, field),
              value_path + ".", report);
          break;
        default:
          break;
      }
    }
  }
}

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
  config.set_operator_name(kDefaultOperatorName);
}

void CheckEvents(const config::v1::Events& events, ConfigReport& report) {
  constexpr absl::Duration kTenYears = absl::Hours(87600);
  CheckRange(events.retention_age(), absl::Minutes(1), "events.retention_age", report, kTenYears);
  CheckRange(events.deduplication_age(), absl::Minutes(1), "events.deduplication_age", report, kTenYears);
  CheckRange(events.heartbeat_interval(), absl::Milliseconds(100), "events.heartbeat_interval", report);
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

void CheckPostgresqlStore(config::v1::Config& config, ConfigReport& report) {
  config::v1::PostgresqlStore& store = *config.mutable_store()->mutable_postgresql();
  CheckPostgresqlHosts(store, report);
  if (store.schema().empty()) store.set_schema("stampgate");
  if (!store.has_migrate()) store.set_migrate(true);
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

void CheckStore(config::v1::Config& config, ConfigReport& report) {
  if (!config.has_store()) return;
  config::v1::Store& store = *config.mutable_store();
  if (store.has_sqlite() == store.has_postgresql()) {
    report.Add("store", "must have either sqlite or postgresql");
  } else if (store.has_postgresql()) {
    CheckPostgresqlStore(config, report);
  }
  if (!store.has_key_retention()) *store.mutable_key_retention() = TimeUtil::HoursToDuration(24);
  // A key must be kept at least as long as upstream accepts its submit again, which is one hour.
  CheckRange(store.key_retention(), absl::Hours(1), "store.key_retention", report, absl::Hours(720));
}

void CheckWebhookPaths(const google::protobuf::RepeatedPtrField<std::string>& paths, ConfigReport& report) {
  constexpr size_t kShortest = 24;  // '/' and 23 letters and digits, which nobody can guess if they are random
  constexpr int kMost = 8;
  const auto allowed = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("-_.~/", c); };
  std::set<absl::string_view> known;
  for (int i = 0; i < paths.size(); ++i) {
    const std::string path = absl::StrCat("webhooks.paths[", i, "]");
    if (!absl::StartsWith(paths[i], "/") || paths[i].size() < kShortest || !ConsistsOf(paths[i], allowed)) {
      report.Add(path, absl::StrCat("must be '/' and at least ", kShortest - 1,
                                    " letters, digits, '-', '_', '.', '~' and '/', chosen at random"));
    } else if (!known.insert(paths[i]).second) {
      report.Add(path, "is given twice");
    }
  }
  if (paths.size() > kMost) report.Add("webhooks.paths", absl::StrCat("must be no more than ", kMost));
}

void CheckProxies(const google::protobuf::RepeatedPtrField<std::string>& proxies, ConfigReport& report) {
  constexpr int kMost = 64;
  AddressBlocks blocks;
  for (int i = 0; i < proxies.size(); ++i) {
    const absl::Status status = blocks.Add(proxies[i]);
    if (!status.ok()) report.Add(absl::StrCat("webhooks.proxy_protocol_from[", i, "]"), status.message());
  }
  if (proxies.size() > kMost) {
    report.Add("webhooks.proxy_protocol_from", absl::StrCat("must be no more than ", kMost));
  }
}

void CheckWebhooks(config::v1::Config& config, ConfigReport& report) {
  config::v1::Webhooks& webhooks = *config.mutable_webhooks();
  // Half of it is for connections, and a body needs twice its size while its pieces are joined.
  const uint64_t least = 8 * uint64_t{webhooks.max_body_bytes()};
  if (!webhooks.has_max_bytes()) {
    webhooks.set_max_bytes(static_cast<uint32_t>(std::clamp(least, uint64_t{64} << 20, uint64_t{1} << 30)));
  } else if (webhooks.max_bytes() < least) {
    report.Add("webhooks.max_bytes", "must be at least eight times max_body_bytes");
  }
  CheckWebhookPaths(webhooks.paths(), report);
  CheckRange(webhooks.request_timeout(), absl::Milliseconds(100), "webhooks.request_timeout", report);
  CheckRange(webhooks.idle_timeout(), absl::Milliseconds(100), "webhooks.idle_timeout", report);
  CheckRange(webhooks.max_timestamp_age(), absl::Seconds(1), "webhooks.max_timestamp_age", report);
  CheckRange(webhooks.min_key_set_interval(), absl::Milliseconds(100), "webhooks.min_key_set_interval", report);
  if (webhooks.tls_certificate_file().empty() != webhooks.tls_private_key_file().empty()) {
    report.Add(
        webhooks.tls_certificate_file().empty() ? "webhooks.tls_certificate_file" : "webhooks.tls_private_key_file",
        "is required: tls_certificate_file and tls_private_key_file must be given together");
  }
  CheckProxies(webhooks.proxy_protocol_from(), report);
  if (webhooks.listen_address().empty()) return;
  if (!ParseListenAddress(webhooks.listen_address()).ok()) {
    report.Add("webhooks.listen_address", "must be address:port, such as 0.0.0.0:8080");
  }
  if (webhooks.paths().empty()) report.Add("webhooks.paths", "is required with listen_address");
  if (config.events().file().empty() && !config.has_store()) {
    report.Add("store", "is required with webhooks.listen_address");
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
  CheckRange(upstream.connect_timeout(), absl::Milliseconds(1), "upstream.connect_timeout", report);
  CheckRange(upstream.exchange_timeout(), absl::Milliseconds(1), "upstream.exchange_timeout", report);
  CheckRange(upstream.max_idle(), absl::Seconds(1), "upstream.max_idle", report);
  if (upstream.http2()) report.Add("upstream.http2", "is no longer supported: remove it");
}

void CheckCalls(const config::v1::Calls& calls, ConfigReport& report) {
  CheckRange(calls.default_deadline(), absl::Milliseconds(100), "calls.default_deadline", report);
  CheckRange(calls.max_deadline(), absl::Milliseconds(100), "calls.max_deadline", report);
  CheckRange(calls.drain_grace(), absl::Seconds(2), "calls.drain_grace", report);
  if (report.IsFaulty("calls.max_deadline")) return;
  if (ToDuration(calls.default_deadline()) > ToDuration(calls.max_deadline())) {
    report.Add("calls.default_deadline", absl::StrCat("must not be above max_deadline, which is ",
                                                      absl::FormatDuration(ToDuration(calls.max_deadline()))));
  }
}

void CheckActivities(const config::v1::Activities& activities, ConfigReport& report) {
  CheckRange(activities.max_wait(), absl::Seconds(1), "activities.max_wait", report, absl::Hours(24));
  CheckRange(activities.poll_interval(), absl::Milliseconds(100), "activities.poll_interval", report);
  CheckRange(activities.max_poll_interval(), absl::Milliseconds(100), "activities.max_poll_interval", report,
             absl::Hours(1));
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

void CheckRates(const google::protobuf::RepeatedPtrField<config::v1::Rate>& rates, const std::string& path,
                ConfigReport& report) {
  for (int i = 0; i < rates.size(); ++i) {
    if (!rates[i].has_per()) continue;
    CheckRange(rates[i].per(), absl::Milliseconds(100), absl::StrCat(path, "[", i, "].per"), report, absl::Hours(768));
  }
}

void CheckAdmission(const config::v1::Admission& admission, ConfigReport& report) {
  CheckRange(admission.max_wait(), absl::Milliseconds(1), "admission.max_wait", report, absl::Seconds(30));
  CheckRates(admission.rates(), "admission.rates", report);
  CheckRates(admission.organization_rates(), "admission.organization_rates", report);
  std::set<std::string> names;
  for (int i = 0; i < admission.organizations_size(); ++i) {
    const std::string path = absl::StrCat("admission.organizations[", i, "]");
    CheckRates(admission.organizations(i).rates(), path + ".rates", report);
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
    CheckRates(entries[i].rates(), path + ".rates", report);
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

void CheckConnections(const config::v1::Connections& connections, ConfigReport& report) {
  CheckRange(connections.handshake_timeout(), absl::Milliseconds(100), "connections.handshake_timeout", report,
             absl::Minutes(1));
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
  config::v1::Config config = Defaults();
  Locations locations;
  std::vector<Fault> faults = ReadYaml(*text, &config, &locations);
  ConfigReport report(snapshot.path, std::move(faults), std::move(locations));
  CheckFields(config, "", report);
  CheckListenAddress(config, report);
  CheckRange(config.reload_interval(), absl::Milliseconds(100), "reload_interval", report);
  CheckTls(config, report);
  if (!config.has_reflection()) config.set_reflection(!config.has_tls());
  CheckAudit(config.audit(), report);
  CheckAdmin(config.admin(), report);
  CheckOperatorName(config, report);
  CheckKeys(config.keys(), report);
  CheckUpstream(config.upstream(), report);
  CheckActivities(config.activities(), report);
  CheckConnections(config.connections(), report);
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
    signers = MakeSigners(config, contents, report);
    key_sets = ParseKeySets(config, contents, report);
  }
  GrantOrganizations organizations = FindGrantOrganizations(
      config, snapshot.organizations, UseOf(snapshot.files, in_force), InForceOf(in_force), report);
  ABSL_RETURN_IF_ERROR(report.ToStatus());
  return ParsedConfig{Config(std::move(config), std::move(operations), std::move(organizations), report.Warnings()),
                      std::move(signers), std::move(key_sets)};
}

}  // namespace stampgate
