// Helpers for this folder's tests: upstream's own stamps, a verifier that is independent of the code under test, files,
// and OpenSSL's command line.
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
  // Texts of key files, each of which holds the key.
  std::vector<std::string> key_texts;
  std::string public_key;  // hex
  std::string body;
  std::string body_sha256;  // hex
  // From the stamp; `signature` is hex.
  std::string scheme;
  std::string signature;
};

// The vectors whose scheme is that of an API key on a supported curve.
const std::vector<StampVector>& StampVectors();

// True if `signature_hex` is a genuine signature of `body`. Accepts non-minimal DER and high S, as upstream does.
bool Verifies(Curve curve, absl::string_view public_key_hex, absl::string_view body, absl::string_view signature_hex);

// Signs with a signer that calls `done` before Sign returns; fails the test on an error.
std::string SignNow(const Signer& signer, absl::string_view body);

// The JSON inside an X-Stamp header's value.
std::string StampJson(absl::string_view header_value);
// The hex value of `member` in that JSON.
std::string StampMember(absl::string_view header_value, absl::string_view member);

// A path in the test's directory.
std::string TempPath(absl::string_view name);
// Writes a file with mode 0600 in that directory, replacing an old one, and returns its path.
std::string WriteTemp(absl::string_view name, absl::string_view content);
std::string ReadAll(const std::string& path);

// The key as an X.509 SubjectPublicKeyInfo in DER.
std::string PublicKeyDer(Curve curve, absl::string_view public_key_hex);

// Runs a shell command; true if it exits with 0.
bool RunCommand(const std::string& command);
// Runs a shell command and returns its output; fails the test unless it exits with 0.
std::string OutputOf(const std::string& command);

// How much memory this process has locked, in kilobytes.
int LockedKb();
// True under a sanitizer, which ignores mlock and keeps copies of memory.
bool IsSanitized();
// For a child process: makes every later attempt to lock memory fail, also for root.
void ForbidLocking();

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMP_TESTING_H_
