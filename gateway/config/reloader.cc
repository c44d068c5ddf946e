#include "gateway/config/reloader.h"

#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gateway/config/duration.h"
#include "gateway/config/reloaded_part.h"

namespace stampgate {
Reloader::Reloader(Options options, CurrentAccess& current)
    : options_(std::move(options)),
      current_(current),
      source_(options_.file.path(), ConfigFiles::kReloaded, options_.now),
      fixed_part_(FixedPart(*options_.config).SerializeAsString()),
      taken_(options_.now()),
      task_("reloader", ToDuration(options_.config->reload_interval()), [this] { Look(); }) {
  if (options_.metrics != nullptr) options_.metrics->SetConfigTaken(taken_);
}

void Reloader::Look() {
  LookAtConfig();
  options_.token_keys.Tidy();
  if (options_.reload_more) LogOnce(options_.reload_more(), "certificate_reload_failed", {}, logged_more_);
}

void Reloader::LookAtConfig() {
  const absl::Duration wait = absl::FromChrono(options_.file.Look(options_.steady_now()));
  if (wait > absl::ZeroDuration()) {
    if (!std::exchange(unsettled_, true)) {
      Log(Severity::kInfo, "config_changed",
          {{"message", "the gateway reads the config when its file has not changed for two seconds"}});
    }
    return task_.RunAgainIn(wait);
  }
  unsettled_ = false;
  const absl::StatusOr<ConfigSnapshot> snapshot = source_.Read(good_digest_);
  // If the config file has changed during the reading, the snapshot can be half-written, so the reloader checks the
  // file again.
  if (!options_.file.IsAsSeen()) return task_.Wake();
  if (snapshot.ok() && snapshot->digest == good_digest_) return;
  // If the last snapshot had a fault, the reloader parses the snapshot again at each check, because the cause of the
  // fault can be a lack of memory instead of the files.
  good_digest_.reset();
  const absl::StatusOr<Loaded> loaded =
      snapshot.ok() ? LoadSnapshot(*snapshot, options_.token_keys) : snapshot.status();
  if (Take(loaded).ok()) good_digest_ = snapshot->digest;
}

absl::Status Reloader::Take(const absl::StatusOr<Loaded>& loaded) {
  absl::Status status = loaded.status();
  const bool is_new = status.ok() && loaded->access->version != current_.Get()->version;
  if (is_new && options_.prepare) status = options_.prepare(*loaded->access);
  LogOnce(status, "reload_failed",
          {{"last_good_config", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", taken_, absl::UTCTimeZone())}},
          logged_access_);
  if (!status.ok()) {
    if (options_.metrics != nullptr) options_.metrics->CountReload("config", false);
    return status;
  }
  if (is_new) Apply(*loaded);
  const bool differs = FixedPart(*loaded->config).SerializeAsString() != fixed_part_;
  LogOnce(differs
              ? absl::FailedPreconditionError(
                    "settings other than operations, keys, callers, token_issuers and class_grants_as_of have changed")
              : absl::OkStatus(),
          "restart_needed", {}, logged_restart_);
  return absl::OkStatus();
}

void Reloader::Apply(const Loaded& loaded) {
  current_.Set(loaded.access);
  taken_ = options_.now();
  if (options_.metrics != nullptr) {
    options_.metrics->CountReload("config", true);
    options_.metrics->SetPolicyVersion(loaded.access->version);
    options_.metrics->SetConfigTaken(taken_);
  }
  Log(Severity::kInfo, "reloaded",
      {{"policy_version", loaded.access->version},
       {"keys", loaded.config->keys_size()},
       {"callers", loaded.config->callers_size()},
       {"operations_sha256", loaded.access->operations_sha256}});
}

void Reloader::LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged) {
  if (status.message() == logged) return;
  logged = std::string(status.message());
  if (status.ok()) return;
  LogFields fields = {{"message", absl::StrReplaceAll(logged, {{"\n", "; "}})}};
  fields.insert(fields.end(), more.begin(), more.end());
  Log(Severity::kWarning, event, fields);
}

}  // namespace stampgate
