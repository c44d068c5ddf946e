#include "stamp/key_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "stamp/pem_key.h"
#include "stamp/secret_bytes.h"

namespace stampgate {
namespace {

constexpr off_t kFileBytesMax = 4096;
constexpr mode_t kForbiddenMode = S_IWGRP | S_IRWXO;

absl::Status CheckFile(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return absl::FailedPreconditionError("it is not a regular file");
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return absl::PermissionDeniedError("it belongs to neither root nor the user that we run as");
  }
  if ((file.st_mode & kForbiddenMode) != 0) {
    return absl::PermissionDeniedError(
        "others may use it or its group may write it: its mode must be 0600, 0400 or 0440");
  }
  if (file.st_size == 0) return absl::InvalidArgumentError("it is empty");
  if (file.st_size > kFileBytesMax) return absl::InvalidArgumentError("it is larger than 4096 bytes");
  return absl::OkStatus();
}

absl::StatusOr<SecretBytes> ReadBytes(const std::string& path) {
  // One open, and the checks on what it opened: nothing can be swapped in between. O_NONBLOCK is for FIFOs.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, "it cannot be opened");
  absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat file;
  if (fstat(fd, &file) != 0) return absl::ErrnoToStatus(errno, "it cannot be examined");
  if (absl::Status status = CheckFile(file); !status.ok()) return status;
  absl::StatusOr<SecretBytes> bytes = SecretBytes::Create(static_cast<size_t>(file.st_size));
  if (!bytes.ok()) return bytes.status();
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got = read(fd, bytes->data() + done, bytes->size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "it cannot be read");
    if (got == 0) return absl::InvalidArgumentError("it became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

absl::StatusOr<PrivateKey> ParseHexKey(absl::string_view text) {
  const size_t colon = text.find(':');
  std::optional<Curve> curve = Curve::kP256;
  if (colon != absl::string_view::npos) {
    curve = ParseCurve(text.substr(colon + 1));
    if (!curve) return absl::InvalidArgumentError("what follows its colon is none of p256, secp256k1 and ed25519");
    text = text.substr(0, colon);
  }
  const bool with_public_key = *curve == Curve::kEd25519 && text.size() == 4 * kScalarBytes;
  if (text.size() != 2 * kScalarBytes && !with_public_key) {
    return absl::InvalidArgumentError("it is neither PEM nor 64 hex digits and a curve (128 for ed25519)");
  }
  absl::StatusOr<SecretBytes> scalar = SecretBytes::Create(kScalarBytes);
  if (!scalar.ok()) return scalar.status();
  std::string public_key(with_public_key ? kScalarBytes : 0, '\0');
  absl::string_view scalar_hex = text.substr(0, 2 * kScalarBytes);
  absl::string_view public_hex = text.substr(2 * kScalarBytes);
  if (sodium_hex2bin(scalar->data(), scalar->size(), scalar_hex.data(), scalar_hex.size(), nullptr, nullptr, nullptr) !=
          0 ||
      sodium_hex2bin(reinterpret_cast<uint8_t*>(public_key.data()), public_key.size(), public_hex.data(),
                     public_hex.size(), nullptr, nullptr, nullptr) != 0) {
    return absl::InvalidArgumentError("it has other characters among its hex digits");
  }
  PrivateKey key{*curve, *std::move(scalar)};
  absl::StatusOr<PublicKey> derived = DerivePublicKey(key);
  if (!derived.ok()) return derived.status();
  if (with_public_key && !derived->Matches(public_key)) {
    return absl::InvalidArgumentError("its public key does not belong to its private key");
  }
  return key;
}

}  // namespace

absl::StatusOr<PrivateKey> ParseKeyText(absl::string_view text) {
  if (absl::StartsWith(text, "-----BEGIN ")) return ParsePemKey(text);
  if (absl::StrContains(text, "-----BEGIN ")) return absl::InvalidArgumentError("it has text before the PEM block");
  // Editors end a line; TrimRight would also swallow what a botched copy left.
  if (absl::ConsumeSuffix(&text, "\n")) absl::ConsumeSuffix(&text, "\r");
  return ParseHexKey(text);
}

absl::StatusOr<PrivateKey> ReadKeyFile(const std::string& path) {
  absl::StatusOr<SecretBytes> bytes = ReadBytes(path);
  absl::StatusOr<PrivateKey> key = bytes.ok() ? ParseKeyText(bytes->text()) : bytes.status();
  if (key.ok()) return key;
  return absl::Status(key.status().code(), absl::StrCat("key file ", path, ": ", key.status().message()));
}

}  // namespace stampgate
