// A certificate and its key, read from their files as they belong together.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_PAIR_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_PAIR_H_

#include <string>

#include "absl/status/statusor.h"

namespace stampgate {

// Paths of PEM files.
struct TlsPairFiles {
  std::string certificate_file;  // the certificate with what leads to its authority
  std::string private_key_file;  // without a passphrase
};

// What both held at one moment. The key is wiped when it goes.
struct TlsPair {
  TlsPair() = default;
  TlsPair(TlsPair&&) = default;
  TlsPair& operator=(TlsPair&& other) noexcept;
  ~TlsPair();

  std::string certificates;
  std::string private_key;

  friend bool operator==(const TlsPair&, const TlsPair&) = default;
};

// Reads both files, of 1 MiB at most each, until they are twice the same: they may be replaced meanwhile, one after the
// other. Symbolic links are followed. Never blocks on a FIFO. Errors: kInvalidArgument with the file's path and what is
// wrong with it, never anything from the file; kAborted if they change faster than they can be read.
absl::StatusOr<TlsPair> ReadTlsPair(const TlsPairFiles& files);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_PAIR_H_
