#include "webhooks/http/tls_pair.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr off_t kMaxBytes = 1 << 20;
constexpr int kMostReadings = 10;

absl::Status Unusable(const std::string& file, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
}

// Into `bytes`, which is as large as the file at once: no copy stays behind that is not wiped.
absl::Status ReadFile(const std::string& path, std::string& bytes) {
  // O_NONBLOCK is for FIFOs.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return Unusable(path, std::strerror(errno));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat file;
  if (fstat(fd, &file) != 0) return Unusable(path, std::strerror(errno));
  if (!S_ISREG(file.st_mode)) return Unusable(path, "is not a regular file");
  if (file.st_size > kMaxBytes) return Unusable(path, absl::StrCat("is larger than ", kMaxBytes >> 10, " KiB"));
  bytes.resize(static_cast<size_t>(file.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unusable(path, std::strerror(errno));
    if (got == 0) return Unusable(path, "became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<TlsPair> ReadOnce(const TlsPairFiles& files) {
  TlsPair pair;
  if (absl::Status status = ReadFile(files.certificate_file, pair.certificates); !status.ok()) return status;
  if (absl::Status status = ReadFile(files.private_key_file, pair.private_key); !status.ok()) return status;
  return pair;
}

bool Agree(const absl::StatusOr<TlsPair>& one, const absl::StatusOr<TlsPair>& other) {
  if (!one.ok() || !other.ok()) return one.status() == other.status();
  return *one == *other;
}

}  // namespace

TlsPair& TlsPair::operator=(TlsPair&& other) noexcept {
  certificates.swap(other.certificates);
  private_key.swap(other.private_key);
  return *this;
}

TlsPair::~TlsPair() { OPENSSL_cleanse(private_key.data(), private_key.size()); }

absl::StatusOr<TlsPair> ReadTlsPair(const TlsPairFiles& files) {
  absl::StatusOr<TlsPair> pair = ReadOnce(files);
  for (int readings = 1; readings < kMostReadings; ++readings) {
    absl::StatusOr<TlsPair> again = ReadOnce(files);
    if (Agree(pair, again)) return again;
    pair = std::move(again);
  }
  return absl::AbortedError(absl::StrCat(files.certificate_file, " and ", files.private_key_file,
                                         ": they change faster than they can be read"));
}

}  // namespace stampgate
