#include "gateway/subscriptions/settings_in_force.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/config/rules/subscription_rules.h"
#include "gateway/config/settings/defaults.h"
#include "gateway/process/log.h"
#include "google/protobuf/util/message_differencer.h"

namespace stampgate {
namespace {

using ::google::protobuf::util::MessageDifferencer;

// Whether the settings have values that a config can have. Somebody could have declared others.
bool IsValid(const config::v1::Subscription& config) {
  const int64_t settle_within_s = config.settle_within().seconds();
  return settle_within_s >= 1 && settle_within_s <= 3600 && config.max_deliveries() >= 1 &&
         config.max_deliveries() <= 1000 && config.max_unsettled_per_key() >= 1 &&
         config.max_unsettled_per_key() <= 1000 && config.all_organizations() == config.organizations().empty();
}

// Reads what a gateway has declared, perhaps one of another release. Returns nothing if nobody can use it.
std::optional<config::v1::Subscription> Parse(const std::string& settings, const std::string& name) {
  config::v1::Subscription config;
  if (!config.ParseFromString(settings) || config.name() != name) return std::nullopt;
  config.DiscardUnknownFields();
  SetDefaults(config);
  if (!IsValid(config)) return std::nullopt;
  return VersionedSettingsOf(std::move(config));
}

void LogOverruled(const config::v1::Subscription& own, int64_t version) {
  const std::string other = version == own.version()
                                ? absl::StrCat("another gateway has declared other settings with the same version, ",
                                               version, ", before: raise version in this config to apply its settings")
                                : absl::StrCat("another gateway has declared settings with version ", version,
                                               ", and this config has version ", own.version());
  Log(version == own.version() ? Severity::kWarning : Severity::kInfo, "subscription_settings_overruled",
      {{"subscription", own.name()}, {"message", absl::StrCat("the settings of this config do not apply: ", other)}});
}

}  // namespace

void SettingsInForce::Report(const std::string& name, const DeclaredSettings& settings) {
  const MutexLock lock(mutex_);
  const auto [it, is_new] = reports_.try_emplace(name, settings);
  // Otherwise the settings are those that the declaration returns.
  if (!is_new && it->second.has_value()) it->second = settings;
}

void SettingsInForce::DeclareAgain(const std::string& name) {
  const MutexLock lock(mutex_);
  reports_[name] = std::nullopt;
}

bool SettingsInForce::Update() {
  std::map<std::string, std::optional<DeclaredSettings>> reports;
  {
    const MutexLock lock(mutex_);
    reports.swap(reports_);
  }
  bool has_changed = false;
  for (auto& [name, settings] : reports) {
    const auto it = declarations_.find(name);
    if (it == declarations_.end()) continue;
    if (!settings.has_value()) {
      declarations_.erase(it);
      has_changed = true;
    } else if (settings->version > it->second.in_force.version) {
      it->second.in_force = *std::move(settings);
      it->second.is_logged = false;
      has_changed = true;
    }
  }
  return has_changed;
}

absl::StatusOr<SettingsInForce::Settings> SettingsInForce::Find(
    const config::v1::Subscription& own, absl::FunctionRef<absl::StatusOr<Position>()> find_start) {
  auto it = declarations_.find(own.name());
  if (it == declarations_.end() || !MessageDifferencer::Equals(it->second.own, own)) {
    SubscriptionDeclaration declaration;
    declaration.subscription = own.name();
    declaration.order = own.order_by();
    ABSL_ASSIGN_OR_RETURN(declaration.start, find_start());
    declaration.version = own.version();
    declaration.settings = VersionedSettingsOf(own).SerializeAsString();
    ABSL_ASSIGN_OR_RETURN(DeclaredSettings in_force, declare_(declaration));
    if (in_force.is_new) {
      Log(Severity::kInfo, "subscription_created", {{"subscription", own.name()}, {"through", declaration.start}});
    }
    it = declarations_.insert_or_assign(own.name(), Declaration{own, std::move(in_force)}).first;
  }
  Declaration& declaration = it->second;
  const config::v1::Subscription versioned = VersionedSettingsOf(own);
  const std::optional<config::v1::Subscription> declared = Parse(declaration.in_force.settings, own.name());
  Settings settings = {.config = declared.value_or(versioned),
                       .version = declaration.in_force.version,
                       .order = declaration.in_force.order};
  settings.is_own = declared.has_value() && MessageDifferencer::Equals(settings.config, versioned);
  if (!settings.is_own && !std::exchange(declaration.is_logged, true)) LogOverruled(own, settings.version);
  return settings;
}

}  // namespace stampgate
