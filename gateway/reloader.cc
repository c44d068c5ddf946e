#include "gateway/reloader.h"

#include <utility>

#include "absl/strings/str_replace.h"
#include "gateway/loading.h"
#include "gateway/log.h"

namespace stampgate {
namespace {

// What a running gateway does not take over.
std::string FixedPart(const config::v1::Config& config) {
  config::v1::Config fixed = config;
  fixed.clear_keys();
  fixed.clear_callers();
  fixed.clear_token_issuers();
  return fixed.SerializeAsString();
}

}  // namespace

Reloader::Reloader(Options options, CurrentAccess& current)
    : options_(std::move(options)),
      current_(current),
      task_(ToDuration(options_.config->reload_interval()), [this] { Look(); }) {}

void Reloader::Look() {
  const std::shared_ptr<const Access> former = current_.Get();
  absl::StatusOr<Loaded> loaded = Load(options_.path, options_.token_keys, ConfigFiles::kReloaded, former->version);
  Tell(loaded.status(), "reload_failed", told_access_);
  if (!loaded.ok()) Count(false);
  if (loaded.ok()) {
    if (loaded->access->version != former->version) {
      current_.Set(loaded->access);
      Count(true);
      if (options_.metrics != nullptr) options_.metrics->SetPolicyVersion(loaded->access->version);
      Log(Severity::kInfo, "reloaded",
          {{"policy_version", loaded->access->version},
           {"keys", loaded->config->keys_size()},
           {"callers", loaded->config->callers_size()}});
    }
    const bool differs = FixedPart(*loaded->config) != FixedPart(*options_.config);
    Tell(differs ? absl::FailedPreconditionError("settings besides keys, callers and token_issuers have changed")
                 : absl::OkStatus(),
         "restart_needed", told_restart_);
  }
  options_.token_keys.Tidy();
  if (options_.reload_more) Tell(options_.reload_more(), "certificate_reload_failed", told_more_);
}

void Reloader::Count(bool ok) {
  if (options_.metrics != nullptr) options_.metrics->CountReload("config", ok);
}

void Reloader::Tell(const absl::Status& status, const char* event, std::string& told) {
  if (status.message() == told) return;
  told = std::string(status.message());
  if (status.ok()) return;
  Log(Severity::kWarning, event, {{"message", absl::StrReplaceAll(told, {{"\n", "; "}})}});
}

}  // namespace stampgate
