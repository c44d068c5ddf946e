#include "webhooks/http/current_tls.h"

#include <openssl/asn1.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ctime>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "stamp/secret/sha256.h"
#include "webhooks/http/tls_context.h"

namespace stampgate {
namespace {

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return absl::InvalidArgumentError("has a time that cannot be read");
  return absl::FromTimeT(timegm(&utc));
}

absl::Status InFile(const std::string& file, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CurrentTls>> CurrentTls::Load(TlsPairFiles files) {
  std::unique_ptr<CurrentTls> tls(new CurrentTls(std::move(files)));
  const absl::StatusOr<TlsPair> pair = ReadTlsPair(tls->files_);
  if (!pair.ok()) return pair.status();
  absl::StatusOr<std::shared_ptr<Served>> served = tls->Make(*pair);
  if (!served.ok()) return served.status();
  tls->served_ = *std::move(served);
  return tls;
}

CurrentTls::Digest CurrentTls::DigestOf(const TlsPair& pair) {
  return {Sha256(pair.certificates), Sha256(pair.private_key)};
}

absl::StatusOr<std::shared_ptr<CurrentTls::Served>> CurrentTls::Make(const TlsPair& pair) const {
  absl::StatusOr<boost::asio::ssl::context> context = MakeTlsServerContext(pair, files_);
  if (!context.ok()) return context.status();
  const X509* certificate = SSL_CTX_get0_certificate(context->native_handle());
  const absl::StatusOr<absl::Time> not_before = ToTime(X509_get0_notBefore(certificate));
  if (!not_before.ok()) return InFile(files_.certificate_file, not_before.status().message());
  const absl::StatusOr<absl::Time> not_after = ToTime(X509_get0_notAfter(certificate));
  if (!not_after.ok()) return InFile(files_.certificate_file, not_after.status().message());
  return std::make_shared<Served>(Served{*std::move(context), *not_before, *not_after, DigestOf(pair)});
}

std::shared_ptr<CurrentTls::Served> CurrentTls::served() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

std::shared_ptr<boost::asio::ssl::context> CurrentTls::context() const {
  std::shared_ptr<Served> current = served();
  boost::asio::ssl::context* context = &current->context;
  return std::shared_ptr<boost::asio::ssl::context>(std::move(current), context);
}

absl::Time CurrentTls::not_after() const { return served()->not_after; }

absl::StatusOr<bool> CurrentTls::Reload(absl::Time now) {
  const std::lock_guard reloading(reloading_);
  const absl::StatusOr<TlsPair> pair = ReadTlsPair(files_);
  if (!pair.ok()) return pair.status();
  if (DigestOf(*pair) == served()->digest) return false;
  absl::StatusOr<std::shared_ptr<Served>> next = Make(*pair);
  if (!next.ok()) return next.status();
  if (now < (*next)->not_before) return InFile(files_.certificate_file, "its certificate is not valid yet");
  if (now > (*next)->not_after) return InFile(files_.certificate_file, "its certificate has expired");
  const std::lock_guard lock(mutex_);
  served_.swap(*next);  // the former one goes after the lock
  return true;
}

}  // namespace stampgate
