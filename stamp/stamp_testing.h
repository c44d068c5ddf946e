// What the tests of this folder share: upstream's own stamps, a verifier that owes nothing to the code under test,
// files, and OpenSSL's command line.
#ifndef STAMPGATE_STAMP_STAMP_TESTING_H_
#define STAMPGATE_STAMP_STAMP_TESTING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "stamp/curve.h"
#include "stamp/signer.h"

namespace stampgate {

// One entry of tests/vectors/stamps.json.
struct StampVector {
  std::string id;
  Curve curve;
  // Texts of key files that hold the key.
  std::vector<std::string> key_texts;
  std::string public_key;  // hex
  std::string body;
  std::string body_sha256;  // hex
  // Of the stamp; `signature` is hex.
  std::string scheme;
  std::string signature;
};

// The vectors whose scheme is that of an API key on one of our curves.
const std::vector<StampVector>& StampVectors();

// True if `signature_hex` is a genuine signature of `body`. DER may be non-minimal and S high, as upstream takes them.
bool Verifies(Curve curve, absl::string_view public_key_hex, absl::string_view body, absl::string_view signature_hex);

// The signature of a signer that answers at once; fails the test on an error.
std::string SignNow(const Signer& signer, absl::string_view body);

// The JSON inside an X-Stamp header's value.
std::string StampJson(absl::string_view header_value);
// The hex value of `member` in that JSON.
std::string StampMember(absl::string_view header_value, absl::string_view member);

// A path in the test's own directory.
std::string TempPath(absl::string_view name);
// Writes a file with mode 0600 there, replacing what was there, and returns its path.
std::string WriteTemp(absl::string_view name, absl::string_view content);
std::string ReadAll(const std::string& path);

// The key as an X.509 SubjectPublicKeyInfo in DER.
std::string PublicKeyDer(Curve curve, absl::string_view public_key_hex);

// Runs a shell command; true if it exits with 0.
bool RunCommand(const std::string& command);
// What the command prints; fails the test unless it exits with 0.
std::string OutputOf(const std::string& command);

// Kilobytes that this process has locked.
int LockedKb();
// True under a sanitizer: it turns mlock into nothing and keeps copies of memory.
bool IsSanitized();
// For a child process: from here on nothing can be locked, whatever user we are.
void ForbidLocking();

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMP_TESTING_H_
