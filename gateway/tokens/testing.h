// Creates keys and tokens of an issuer for tests. If a key or token cannot be created, aborts the process.
#ifndef STAMPGATE_GATEWAY_TOKENS_TESTING_H_
#define STAMPGATE_GATEWAY_TOKENS_TESTING_H_

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

std::string Base64Url(absl::string_view bytes);

class TestTokenKey {
 public:
  // Generates a key. `type` is "RSA" or the name of a curve, such as "P-256". `bits` is the size of an RSA key.
  explicit TestTokenKey(const std::string& type, unsigned bits = 2048);

  // These functions return the members of the JSON Web Key. If this type of key does not have a member, the function
  // returns an empty string.
  std::string n() const;
  std::string e() const;
  std::string x() const;
  std::string y() const;
  // Returns the public key as a JSON Web Key. `members` are further members of the key, such as R"("kid":"a")".
  std::string Jwk(absl::string_view members = "") const;
  // Returns the public key in PEM.
  std::string Pem() const;

  // Signs `text` and returns the signature in the form of a JSON Web Signature. For an RSA key, `hash` is an OpenSSL
  // hash function and `padding` one of OpenSSL's padding constants; 1 is RSA_PKCS1_PADDING. Other keys ignore `hash`
  // and `padding`.
  std::string Sign(absl::string_view text, const EVP_MD* hash = EVP_sha256(), int padding = 1) const;
  // Signs `text` and returns the signature in OpenSSL's form, which is DER for ECDSA.
  std::string SignDer(absl::string_view text) const;

  // Returns a signed token in the compact form.
  std::string Token(absl::string_view header, absl::string_view payload) const;

 private:
  bool is_rsa_;
  std::shared_ptr<EVP_PKEY> key_;
};

// Returns a key set with these keys: {"keys":[...]}.
std::string JwksOf(const std::vector<std::string>& keys);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_TESTING_H_
