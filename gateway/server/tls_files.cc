#include "gateway/server/tls_files.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/config/reloader.h"
#include "gateway/config/settings/named_files.h"

namespace stampgate {
namespace {

void Show(const CurrentTls& tls, ServerMetrics& metrics) {
  metrics.certificate_not_after.Set(static_cast<double>(absl::ToUnixSeconds(tls.not_after())));
}

// Even if this returns an error, the served certificate can have changed, because a part of the reload can have
// succeeded.
ReloadedMore ReloadCallersTls(CurrentTls* tls, bool asked, ServerMetrics& metrics) {
  if (tls == nullptr) return {};
  const absl::StatusOr<bool> changed = tls->Reload(absl::Now(), asked);
  if (!changed.ok() || *changed) metrics.certificate_reloads.Count(changed.ok());
  Show(*tls, metrics);
  return {changed.status(), absl::FromChrono(tls->wait())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<CurrentTls>> LoadTls(const Config& config, ServerMetrics& metrics) {
  if (!config->has_tls()) return nullptr;
  absl::StatusOr<std::unique_ptr<CurrentTls>> tls =
      CurrentTls::Load(FilesOf(*config), TlsProtocol::kHttp2, absl::Now(), [](const SettledFile& file) {
        LogShrunk({file.path(), true, file.former_size(), file.size()});
      });
  if (tls.ok()) Show(**tls, metrics);
  return tls;
}

ReloadedMore ReloadTls(CurrentTls* tls, Server& server, bool asked, ServerMetrics& metrics) {
  const ReloadedMore callers = ReloadCallersTls(tls, asked, metrics);
  const ReloadedMore webhooks = server.ReloadWebhookTls(asked);
  const absl::Duration wait = ShorterWait(callers.wait, webhooks.wait);
  if (callers.status.ok()) return {webhooks.status, wait};
  if (webhooks.status.ok()) return {callers.status, wait};
  return {absl::Status(callers.status.code(), absl::StrCat(callers.status.message(), "; ", webhooks.status.message())),
          wait};
}

}  // namespace stampgate
