// Reads a server's certificate, private key and client CAs from files, and checks them.
#ifndef STAMPGATE_BASE_HTTP_TLS_FILES_H_
#define STAMPGATE_BASE_HTTP_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret/bytes.h"
#include "base/secret/file.h"
#include "base/secret/file_contents.h"

namespace stampgate {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate_file;     // the server's certificate, followed by the intermediate certificates
  std::string private_key_file;     // a key without a passphrase
  std::string client_ca_file = "";  // the CAs of client certificates; empty if the port asks clients for no certificate
  SecretOwners secret_owners = {};  // who else may own the file of the private key
};

// The contents of the files at one moment.
struct TlsSnapshot {
  std::string certificates;
  SecretBytes private_key;  // ends with a zero byte, which gRPC requires
  std::string client_cas;   // empty if there is no client_ca_file

  friend bool operator==(const TlsSnapshot& a, const TlsSnapshot& b);
};

// Makes a snapshot from `contents`, which must have read the certificates and CAs as public files, and the key as a
// secret file. The rules of base/secret/file.h apply to each file. In addition, a public file must contain 1 byte to 1
// MiB, and no file may contain a zero byte.
//
// Error messages name the path and the rule, and never contain a file's content. Error codes are those of
// base/secret/file.h.
absl::StatusOr<TlsSnapshot> MakeTlsSnapshot(const TlsFiles& files, const FileContents& contents);

// Checks that a server can use the snapshot at the time `now`. Returns the time at which the first certificate expires.
//
// The files of certificates and client CAs must contain at least one certificate each, and all certificates must be
// readable. The first certificate must match the key, be valid at `now` and allow server use. The key must be RSA with
// at least 2048 bits, ECDSA on P-256, P-384 or P-521, or Ed25519. OpenSSL's security level must allow the certificate
// and the key. The subject names of the client CAs, which the server sends in the TLS handshake, must not exceed 65000
// bytes. Does not check whether clients trust the certificate.
//
// Errors: kInvalidArgument, with a message that names the path and the rule; kResourceExhausted if memory is short.
absl::StatusOr<absl::Time> CheckTlsSnapshot(const TlsSnapshot& snapshot, const TlsFiles& files, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_TLS_FILES_H_
