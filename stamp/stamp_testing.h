// Helpers for this folder's tests: stamps that upstream's client libraries made, a verifier that is independent of the
// tested code, and OpenSSL's command line.
#ifndef STAMPGATE_STAMP_STAMP_TESTING_H_
#define STAMPGATE_STAMP_STAMP_TESTING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "stamp/curve.h"
#include "stamp/signer.h"

namespace stampgate {

// A stamp of tests/vectors/stamps.json, with its key and body.
struct StampVector {
  std::string id;
  Curve curve;
  // The private key in different forms; each is the content of a key file.
  std::vector<std::string> key_texts;
  std::string public_key;  // in hex
  std::string body;
  std::string body_sha256;  // in hex
  // The scheme and the signature (in hex) that the stamp contains.
  std::string scheme;
  std::string signature;
};

// Returns the vectors whose stamps API keys on supported curves made.
const std::vector<StampVector>& StampVectors();

// Returns true if `signature_hex` is a valid signature of `body` for the public key. Like upstream, accepts DER with
// superfluous leading zeros, and high S.
bool Verifies(Curve curve, absl::string_view public_key_hex, absl::string_view body, absl::string_view signature_hex);

// Signs `body` and returns the signature; fails the test on an error. `signer` must call `done` before Sign returns.
std::string SignNow(const Signer& signer, absl::string_view body);

// Returns the JSON that the value of an X-Stamp header encodes.
std::string StampJson(absl::string_view header_value);
// Returns the text of `member` in the JSON that the value of an X-Stamp header encodes.
std::string StampMember(absl::string_view header_value, absl::string_view member);

// Returns the public key as an X.509 SubjectPublicKeyInfo in DER.
std::string PublicKeyDer(Curve curve, absl::string_view public_key_hex);

// Runs a shell command and returns true if it exits with 0.
bool RunCommand(const std::string& command);
// Runs a shell command and returns its standard output. Fails the test if the command does not exit with 0.
std::string OutputOf(const std::string& command);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMP_TESTING_H_
