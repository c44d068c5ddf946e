#include "gateway/config/reloader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/time/duration.h"
#include "gateway/config/reloaded_part.h"

namespace stampgate {

namespace {

// Returns "a, b and c".
std::string Listed(const std::vector<std::string>& names) {
  const absl::Span<const std::string> all = names;
  return absl::StrCat(absl::StrJoin(all.first(all.size() - 1), ", "), " and ", all.back());
}

}  // namespace

void LogShrunk(const HeldFile& file) {
  Log(Severity::kWarning, "file_shrank",
      {{"file", file.path},
       {"former_bytes", file.former_bytes},
       {"bytes", file.bytes},
       {"message",
        "the file is much shorter than before, so it is perhaps half-written: the gateway uses it after SIGHUP, when a "
        "rename or a changed link has replaced it, or when it has not changed for 30 seconds"}});
}

void LogWarnings(const Config& config) {
  constexpr size_t kMost = 20;
  const absl::Span<const std::string> warnings = config.warnings();
  if (warnings.empty()) return;
  Log(Severity::kWarning, "config_warnings",
      {{"warnings", warnings.size()},
       {"message", absl::StrJoin(warnings.first(std::min(kMost, warnings.size())), "; ")}});
}

Reloader::Reloader(Options options, CurrentAccess& current)
    : options_(std::move(options)),
      current_(current),
      fixed_part_(FixedPart(*options_.config).SerializeAsString()),
      taken_(options_.now()),
      in_force_(options_.config),
      task_("reloader", ToDuration(options_.config->reload_interval()), [this] { Look(); }) {
  ShowTaken();
  options_.metrics.grants_without_their_file.Set(0);
}

void Reloader::Look() {
  const bool asked = asked_.exchange(false);
  absl::Duration wait = LookAtConfig(asked);
  options_.token_keys.Tidy();
  if (options_.reload_more) {
    const ReloadedMore more = options_.reload_more(asked);
    LogOnce(more.status, "certificate_reload_failed", {}, logged_more_);
    wait = ShorterWait(wait, more.wait);
  }
  if (wait > absl::ZeroDuration()) task_.RunAgainIn(wait);
}

absl::Duration Reloader::LookAtConfig(bool asked) {
  const absl::StatusOr<ConfigSource::Reading> reading = options_.source.Read(ConfigFiles::kReloaded, asked);
  if (!reading.ok()) {
    Take(reading.status()).IgnoreError();
    return absl::ZeroDuration();
  }
  LogHeld(reading->held);
  const absl::Duration wait = absl::FromChrono(reading->wait);
  if (!reading->snapshot.has_value() || reading->snapshot->digest == good_digest_) return wait;
  // If the last snapshot had a fault, the reloader parses the snapshot again at each check, because the cause of the
  // fault can be a lack of memory instead of the files.
  good_digest_.reset();
  if (Take(LoadSnapshot(*reading->snapshot, options_.token_keys, &in_force_)).ok()) {
    good_digest_ = reading->snapshot->digest;
    options_.source.SetInForce();
  }
  return wait;
}

void Reloader::LogHeld(const std::vector<HeldFile>& held) {
  std::map<std::string, HeldFile> now;
  for (const HeldFile& file : held) {
    now[file.path] = file;
    const auto known = held_.find(file.path);
    if (known == held_.end()) {
      Log(Severity::kInfo, "config_changed",
          {{"file", file.path}, {"message", "the gateway reads the file when it has not changed for two seconds"}});
    }
    if (file.shrank && (known == held_.end() || !known->second.shrank || known->second.bytes != file.bytes)) {
      LogShrunk(file);
    }
  }
  held_ = std::move(now);
}

absl::Status Reloader::Take(const absl::StatusOr<Loaded>& loaded) {
  absl::Status status = loaded.status();
  const bool is_new = status.ok() && loaded->access->version != current_.Get()->version;
  if (is_new && options_.prepare) status = options_.prepare(*loaded->access);
  LogOnce(status, "reload_failed",
          {{"last_good_config", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", taken_, absl::UTCTimeZone())}},
          logged_access_);
  if (!status.ok()) {
    options_.metrics.reloads.Count(false);
    return status;
  }
  if (is_new) Apply(*loaded);
  if (loaded->config.warnings() != in_force_.warnings()) LogWarnings(loaded->config);
  in_force_ = loaded->config;
  const std::vector<std::string>& not_applied = in_force_.not_applied();
  options_.metrics.grants_without_their_file.Set(in_force_.without_their_file());
  LogOnce(not_applied.empty() ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrJoin(not_applied, "\n")),
          "organizations_not_applied", {}, logged_not_applied_);
  const bool differs = FixedPart(*loaded->config).SerializeAsString() != fixed_part_;
  LogOnce(differs ? absl::FailedPreconditionError(
                        absl::StrCat("settings other than ", Listed(ReloadedSettings()), " have changed"))
                  : absl::OkStatus(),
          "restart_needed", {}, logged_restart_);
  return absl::OkStatus();
}

void Reloader::Apply(const Loaded& loaded) {
  current_.Set(loaded.access);
  taken_ = options_.now();
  options_.metrics.reloads.Count(true);
  options_.metrics.policy.Set(loaded.access->version);
  ShowTaken();
  Log(Severity::kInfo, "reloaded",
      {{"policy_version", loaded.access->version},
       {"keys", loaded.config->keys_size()},
       {"callers", loaded.config->callers_size()},
       {"operations_sha256", loaded.access->operations_sha256}});
}

void Reloader::ShowTaken() { options_.metrics.taken.Set(static_cast<double>(absl::ToUnixSeconds(taken_))); }

void Reloader::LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged) {
  if (status.message() == logged) return;
  logged = std::string(status.message());
  if (status.ok()) return;
  LogFields fields = {{"message", absl::StrReplaceAll(logged, {{"\n", "; "}})}};
  fields.insert(fields.end(), more.begin(), more.end());
  Log(Severity::kWarning, event, fields);
}

}  // namespace stampgate
