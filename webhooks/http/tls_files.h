// Reads the files that a port serves TLS with, and checks that they fit together.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_FILES_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "stamp/secret/bytes.h"
#include "stamp/secret/file_contents.h"

namespace stampgate {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate_file;     // the server's certificate, then the intermediate ones
  std::string private_key_file;     // without a passphrase
  std::string client_ca_file = "";  // the authorities of clients; empty if the port asks clients for no certificate
};

// The contents of the files at one moment.
struct TlsSnapshot {
  std::string certificates;
  SecretBytes private_key;  // ends with a zero byte, which gRPC requires
  std::string client_cas;   // empty without a file

  friend bool operator==(const TlsSnapshot& a, const TlsSnapshot& b);
};

// The snapshot of files that `contents` has read: the certificate and the authorities as public files, the key as a
// secret. The rules of stamp/secret/file.h apply; besides, a public file must have 1 byte to 1 MiB, and none may
// contain a zero byte.
//
// Errors name the path and the rule, never file contents. Codes are those of stamp/secret/file.h.
absl::StatusOr<TlsSnapshot> MakeTlsSnapshot(const TlsFiles& files, const FileContents& contents);

// Reads the files and makes their snapshot. If a file was replaced during the read, as Kubernetes does when it swaps a
// folder, reads all of them again, a few times at most. Errors: those of MakeTlsSnapshot, and kAborted if the files
// keep changing; another attempt may succeed.
absl::StatusOr<TlsSnapshot> ReadTlsFiles(const TlsFiles& files);

// Checks that the snapshot can be served at `now`, and returns the end of the first certificate's validity.
//
// Each file must hold at least one certificate, and all must be readable. The first certificate must belong to the key,
// be valid now and allow server use. The key must be RSA with at least 2048 bits, ECDSA on a NIST curve, or Ed25519.
// OpenSSL's security level must allow both. The names of the authorities must fit into a handshake. Whether clients
// trust the certificate is not checked.
//
// Errors are kInvalidArgument, with the path and the rule.
absl::StatusOr<absl::Time> CheckTlsSnapshot(const TlsSnapshot& snapshot, const TlsFiles& files, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_FILES_H_
