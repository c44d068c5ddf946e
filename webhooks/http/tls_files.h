// The files that a port serves TLS with, read and checked as one.
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
  std::string certificate_file;     // the server's certificate, then what leads to its authority
  std::string private_key_file;     // without a passphrase
  std::string client_ca_file = "";  // the authorities of clients; empty if the port asks clients for no certificate
};

// What the files held at one moment.
struct TlsSnapshot {
  std::string certificates;
  SecretBytes private_key;  // ends with a zero byte, as gRPC wants it
  std::string client_cas;   // empty without a file

  friend bool operator==(const TlsSnapshot& a, const TlsSnapshot& b);
};

// The snapshot of files that `contents` has read: the certificate and the authorities as public files, the key as a
// secret. The rules of stamp/secret/file.h hold; besides, a public file has 1 byte to 1 MiB, and none has a zero byte.
//
// Errors name the path and the rule, never anything from the file. Codes are those of stamp/secret/file.h.
absl::StatusOr<TlsSnapshot> MakeTlsSnapshot(const TlsFiles& files, const FileContents& contents);

// Reads the files and makes their snapshot. If one of them was replaced meanwhile, as Kubernetes does when it swaps a
// folder, all are read again, a few times at most. Errors: those of MakeTlsSnapshot, and kAborted if the files do not
// hold still. Another attempt may succeed.
absl::StatusOr<TlsSnapshot> ReadTlsFiles(const TlsFiles& files);

// Whether the snapshot can be served at `now`, and until when: the end of the first certificate's validity.
//
// All certificates can be read and there is at least one in each file; the first is the key's, valid now, and for
// servers; the key is RSA of 2048 bits or more, ECDSA on a NIST curve or Ed25519; OpenSSL's security level takes both;
// the names of the authorities fit into a handshake. Whether clients trust the certificate is theirs to say.
//
// Errors are kInvalidArgument, with the path and the rule.
absl::StatusOr<absl::Time> CheckTlsSnapshot(const TlsSnapshot& snapshot, const TlsFiles& files, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_FILES_H_
