#include "base/http/current_tls.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/file.h"
#include "base/secret/file_contents.h"
#include "base/secret/sha256.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<CurrentTls>> CurrentTls::Load(TlsFiles files, TlsProtocol protocol, absl::Time now,
                                                             std::function<void(const SettledFile& file)> on_shrunk,
                                                             Clock clock) {
  std::unique_ptr<CurrentTls> tls(new CurrentTls(std::move(files), protocol, std::move(on_shrunk), std::move(clock)));
  ABSL_RETURN_IF_ERROR(tls->Reload(now).status());
  return tls;
}

CurrentTls::CurrentTls(TlsFiles files, TlsProtocol protocol, std::function<void(const SettledFile& file)> on_shrunk,
                       Clock clock)
    : files_(std::move(files)),
      protocol_(protocol),
      on_shrunk_(std::move(on_shrunk)),
      clock_(std::move(clock)),
      key_(SettledFile(files_.private_key_file, SettledFile::First::kAsFound),
           [owners = files_.secret_owners](const std::string& file) { return ReadSecretFile(file, owners); }) {
  for (const std::string& path : {files_.certificate_file, files_.client_ca_file}) {
    if (path.empty()) continue;
    public_.emplace_back(SettledFile(path, SettledFile::First::kAsFound),
                         [](const std::string& file) { return ReadPublicFile(file); });
  }
}

std::shared_ptr<boost::asio::ssl::context> CurrentTls::context() const {
  std::shared_ptr<Served> current = served_.Get();
  boost::asio::ssl::context* context = &current->context;
  return std::shared_ptr<boost::asio::ssl::context>(std::move(current), context);
}

absl::Time CurrentTls::not_after() const { return served_.Get()->not_after; }

absl::StatusOr<bool> CurrentTls::Reload(absl::Time now, bool asked) {
  const MutexLock reloading(reloading_);
  if (!Look(asked)) {
    return absl::AbortedError(
        absl::StrCat(files_.certificate_file, " or a file that belongs to it changes faster than it can be read"));
  }
  FindWait();
  if (wait_.count() > 0) return false;
  absl::StatusOr<bool> changed = Serve(now);
  key_.Free();
  return changed;
}

std::chrono::nanoseconds CurrentTls::wait() const {
  const MutexLock reloading(reloading_);
  return wait_;
}

bool CurrentTls::Look(bool asked) {
  constexpr int kMostLooks = 10;
  // The first time, there is nothing to serve while a file is held.
  const bool first = served_.Get() == nullptr;
  const auto has_changed = [first](const auto& file) { return file.is_whole() ? !file.file().IsAsSeen() : first; };
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const SettledFile::Time now = clock_();
    if (first) {  // what has changed since the last try is still used as it is found
      key_.BeginAgain();
      for (WatchedFile<std::string>& file : public_) file.BeginAgain();
    }
    for (WatchedFile<std::string>& file : public_) file.Look(now, asked);
    key_.Look(now, asked);
    if (!has_changed(key_) && std::none_of(public_.begin(), public_.end(), has_changed)) return true;
  }
  return false;
}

void CurrentTls::FindWait() {
  wait_ = {};
  const auto add = [&](const auto& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(reloading_) {
    if (file.is_whole()) return;
    if (wait_.count() == 0 || file.wait() < wait_) wait_ = file.wait();
    const auto [size, added] = reported_.emplace(file.file().path(), -1);
    if (!file.shrank() || size->second == file.file().size()) return;
    size->second = file.file().size();
    if (on_shrunk_) on_shrunk_(file.file());
  };
  add(key_);
  for (const WatchedFile<std::string>& file : public_) add(file);
  if (wait_.count() == 0) reported_.clear();
}

absl::StatusOr<bool> CurrentTls::Serve(absl::Time now) {
  FileContents contents;
  for (const WatchedFile<std::string>& file : public_) contents.PutPublic(file.file().path(), file.content());
  contents.PutSecret(files_.private_key_file, key_.content());
  ABSL_ASSIGN_OR_RETURN(const TlsSnapshot snapshot, MakeTlsSnapshot(files_, contents));
  const Digest digest = {Sha256(snapshot.certificates), Sha256(snapshot.private_key.text()),
                         Sha256(snapshot.client_cas)};
  if (const std::shared_ptr<Served> current = served_.Get(); current != nullptr && current->digest == digest)
    return false;
  ABSL_ASSIGN_OR_RETURN(const absl::Time not_after, CheckTlsSnapshot(snapshot, files_, now));
  ABSL_ASSIGN_OR_RETURN(boost::asio::ssl::context context, MakeTlsServerContext(snapshot, protocol_));
  served_.Set(std::make_shared<Served>(Served{std::move(context), not_after, digest}));
  return true;
}

}  // namespace stampgate
