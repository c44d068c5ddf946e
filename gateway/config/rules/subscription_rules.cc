#include "gateway/config/rules/subscription_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/callers/caller.h"
#include "gateway/callers/denial.h"
#include "gateway/config/rules/caller_rules.h"
#include "gateway/config/settings/organizations_file.h"
#include "google/protobuf/util/message_differencer.h"

namespace stampgate {
namespace {

using ::google::protobuf::util::MessageDifferencer;

constexpr int kMostSubscriptions = 100;

// The largest number of conditions of a filter, as in the requests of EventService.
constexpr int kMostConditions = 1000;

constexpr char kService[] = "/stampgate.v1.SubscriptionService/";

class SubscriptionCheck {
 public:
  SubscriptionCheck(const config::v1::Config& config, const OperationSet& operations, const FileOrganizations& of_files,
                    ConfigReport& report)
      : config_(config), operations_(operations), of_files_(of_files), report_(report) {}

  void Run() {
    const auto& subscriptions = config_.subscriptions();
    if (subscriptions.empty()) return;
    for (int i = 0; i < subscriptions.size(); ++i) Check(subscriptions[i], absl::StrCat("subscriptions[", i, "]"));
    // These checks come last, because a fault of the list hides faults inside it.
    if (subscriptions.size() > kMostSubscriptions) {
      report_.Add("subscriptions", absl::StrCat("must be no more than ", kMostSubscriptions));
    }
    CheckEventLog();
  }

 private:
  void CheckEventLog() {
    if (!config_.has_store() && config_.events().file().empty()) {
      report_.Add("subscriptions", "needs store: without a store there is no event log");
    }
  }

  void Check(const config::v1::Subscription& subscription, const std::string& path) {
    if (!IsConfigName(subscription.name())) report_.Add(path + ".name", "must consist of a-z, 0-9 and -");
    const auto [first, added] = names_.emplace(subscription.name(), path);
    if (!added) report_.Add(path + ".name", absl::StrCat("is already the name of ", first->second));
    CheckOrganizations(subscription, path);
    if (subscription.types_size() > kMostConditions) {
      report_.Add(path + ".types", absl::StrCat("must be no more than ", kMostConditions));
    }
    if (!ParseSubscriptionStart(subscription.start()).has_value()) {
      report_.Add(path + ".start", "must be earliest, latest, or a time, such as 2026-11-29T08:00:00Z");
    }
    CheckCallers(subscription, path + ".callers");
  }

  void CheckOrganizations(const config::v1::Subscription& subscription, const std::string& path) {
    const auto& organizations = subscription.organizations();
    std::set<absl::string_view> known;
    for (int i = 0; i < organizations.size(); ++i) {
      const std::string id_path = absl::StrCat(path, ".organizations[", i, "]");
      if (!IsOrganizationId(organizations[i])) {
        report_.Add(id_path, "must be an exact id: letters, digits, '.', '_', ':' and '-'");
      } else if (!known.insert(organizations[i]).second) {
        report_.Add(id_path, "is given twice");
      }
    }
    if (organizations.size() > kMostConditions) {
      report_.Add(path + ".organizations", absl::StrCat("must be no more than ", kMostConditions));
    }
    if (report_.IsFaulty(path + ".all_organizations")) return;
    if (subscription.all_organizations() == !organizations.empty()) {
      report_.Add(path + ".organizations", "must be given if, and only if, all_organizations is not true");
    }
  }

  void CheckCallers(const config::v1::Subscription& subscription, const std::string& path) {
    std::set<absl::string_view> known;
    bool has_consumer = false;
    for (int i = 0; i < subscription.callers_size(); ++i) {
      const std::string& name = subscription.callers(i);
      const std::string caller_path = absl::StrCat(path, "[", i, "]");
      const auto found = absl::c_find_if(config_.callers(), [&](const auto& each) { return each.name() == name; });
      if (found == config_.callers().end()) {
        report_.Add(caller_path, "is not the name of a caller");
      } else if (!known.insert(name).second) {
        report_.Add(caller_path, "is given twice");
      } else {
        has_consumer |= CheckRights(subscription, static_cast<size_t>(found - config_.callers().begin()), caller_path);
      }
    }
    if (!has_consumer && !report_.IsFaulty(path)) {
      report_.Warn(path, "has no caller that can consume the subscription");
    }
  }

  // Checks that the caller with this index can consume the subscription. A caller that has neither Consume nor Settle
  // can also use it with another method, as an operator does. Returns whether the caller can consume.
  bool CheckRights(const config::v1::Subscription& subscription, size_t index, const std::string& path) {
    const Caller& caller = CallerAt(index);
    const auto covers = [&](const ApiMethod* method) {
      const OrganizationSet& granted = caller.OrganizationsOf(method->full_name);
      if (subscription.all_organizations()) return granted.all;
      return absl::c_all_of(subscription.organizations(), [&](const auto& id) { return granted.Contains(id); });
    };
    const std::array of_consumer = {MethodNamed("Consume"), MethodNamed("Settle")};
    const auto lacking = std::find_if_not(of_consumer.begin(), of_consumer.end(), covers);
    if (lacking == of_consumer.end()) return true;
    const bool is_operator =
        absl::c_none_of(of_consumer,
                        [&](const ApiMethod* method) { return DecideByMethod(caller, *method).allowed; }) &&
        absl::c_any_of(operations_.methods(), [&](const ApiMethod& method) {
          return absl::StartsWith(method.full_name, kService) && covers(&method);
        });
    if (!is_operator) ReportLack(caller, **lacking, index, path);
    return false;
  }

  const ApiMethod* MethodNamed(absl::string_view name) const {
    return operations_.FindMethod(absl::StrCat(kService, name));
  }

  void ReportLack(const Caller& caller, const ApiMethod& method, size_t index, const std::string& path) {
    const std::string needs = absl::StrCat("cannot consume the subscription: ", method.method->name());
    if (!DecideByMethod(caller, method).allowed) {
      return report_.Add(path, absl::StrCat(needs, " is not granted: ", caller.ExplainMissing(method)));
    }
    const std::string lacks = absl::StrCat(needs, " is not granted for all of its organizations");
    const bool has_file = absl::c_any_of(config_.callers(static_cast<int>(index)).grants(),
                                         [](const auto& grant) { return !grant.organizations_file().empty(); });
    if (has_file) {
      report_.Warn(path, lacks);
    } else {
      report_.Add(path, lacks);
    }
  }

  const Caller& CallerAt(size_t index) {
    const auto found = callers_.find(index);
    if (found != callers_.end()) return found->second;
    static const auto& no_files = *new FileOrganizations::value_type();
    return callers_
        .try_emplace(index, config_.callers(static_cast<int>(index)), operations_, config_.class_grants_as_of(),
                     index < of_files_.size() ? of_files_[index] : no_files)
        .first->second;
  }

  const config::v1::Config& config_;
  const OperationSet& operations_;
  const FileOrganizations& of_files_;
  ConfigReport& report_;
  std::map<std::string, std::string> names_;  // for each name, the path of the subscription that has it
  std::map<size_t, Caller> callers_;          // those that subscriptions name, by their indexes
};

}  // namespace

void CheckSubscriptions(const config::v1::Config& config, const OperationSet& operations,
                        const FileOrganizations& of_files, ConfigReport& report) {
  SubscriptionCheck(config, operations, of_files, report).Run();
}

void CompareSubscriptions(const config::v1::Config& in_force, const config::v1::Config& config, ConfigReport& report) {
  for (const config::v1::Subscription& old : in_force.subscriptions()) {
    const auto& all = config.subscriptions();
    const auto it = absl::c_find_if(all, [&](const auto& each) { return each.name() == old.name(); });
    if (it == all.end()) {
      report.Warn("subscriptions",
                  absl::StrCat("no longer has ", old.name(),
                               ": the gateway keeps its position and its parked events until `stampgate subscriptions "
                               "delete ",
                               old.name(), "`"));
    } else if (config.store().has_postgresql() && it->version() <= old.version() &&
               !MessageDifferencer::Equals(VersionedSettingsOf(*it), VersionedSettingsOf(old))) {
      report.Add(absl::StrCat("subscriptions[", it - all.begin(), "].version"),
                 absl::StrCat("must be greater than ", old.version(), ", because the settings have changed"));
    }
  }
}

config::v1::Subscription VersionedSettingsOf(config::v1::Subscription subscription) {
  subscription.clear_start();
  subscription.clear_version();
  for (auto* const list :
       {subscription.mutable_callers(), subscription.mutable_organizations(), subscription.mutable_types()}) {
    std::sort(list->begin(), list->end());
  }
  return subscription;
}

std::string DescribeSubscriptionChanges(const config::v1::Config& config) {
  if (config.subscriptions().empty()) return "";
  return absl::StrCat(config.subscriptions_size(),
                      config.subscriptions_size() == 1 ? " subscription" : " subscriptions",
                      ": organizations that a reload adds to a subscription apply from its position on; one that a "
                      "reload removes keeps its position until `stampgate subscriptions delete`\n");
}

std::optional<absl::Time> ParseSubscriptionStart(absl::string_view start) {
  if (start == "earliest") return absl::InfinitePast();
  if (start == "latest") return absl::InfiniteFuture();
  absl::Time time;
  std::string error;
  // ParseTime also reads infinite times.
  if (!absl::ParseTime(absl::RFC3339_full, start, &time, &error)) return std::nullopt;
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return std::nullopt;
  return time;
}

}  // namespace stampgate
