#include "stamp/stamp_testing.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <simdjson.h>
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "base/secret/openssl_ptr.h"
#include "gtest/gtest.h"
#include "stamp/request_body.h"

namespace stampgate {
namespace {

std::string Text(simdjson::dom::element object, std::string_view key) {
  return std::string(std::string_view(object[key]));
}

std::vector<StampVector> LoadVectors() {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.load("tests/vectors/stamps.json");
  std::vector<StampVector> vectors;
  for (std::string_view list : {"p256", "other"}) {
    for (simdjson::dom::element entry : root[list]) {
      const std::string scheme = Text(entry["stamp"], "scheme");
      std::optional<Curve> curve = ParseScheme(scheme);
      if (!curve) continue;
      StampVector vector{Text(entry, "id"),
                         *curve,
                         {},
                         Text(entry, "publicKey"),
                         "",
                         Text(entry, "bodySha256Hex"),
                         scheme,
                         Text(entry["stamp"], "signature")};
      EXPECT_TRUE(absl::Base64Unescape(Text(entry, "bodyBase64"), &vector.body));
      if (*curve == Curve::kP256) vector.key_texts.push_back(Text(entry, "privateKey"));
      vector.key_texts.push_back(absl::StrCat(Text(entry, "privateKey"), ":", CurveName(*curve)));
      if (std::string_view text; entry["goPrivateKeyFile"].get(text) == simdjson::SUCCESS) {
        vector.key_texts.emplace_back(text);
      }
      vectors.push_back(std::move(vector));
    }
  }
  return vectors;
}

// Removes an INTEGER, which may have superfluous leading zeros, from the front of `der` and returns its value. Returns
// null if `der` does not begin with an INTEGER.
BignumPtr TakeInteger(absl::string_view* der) {
  if (der->size() < 2 || (*der)[0] != 2) return nullptr;
  const size_t size = static_cast<uint8_t>((*der)[1]);
  if (size > der->size() - 2) return nullptr;
  BignumPtr number(BN_bin2bn(reinterpret_cast<const uint8_t*>(der->data()) + 2, static_cast<int>(size), nullptr));
  der->remove_prefix(2 + size);
  return number;
}

// Returns the ECDSA signature `lenient` in strict DER, without superfluous leading zeros; empty if `lenient` is no
// signature.
std::string StrictDer(absl::string_view lenient) {
  if (lenient.size() < 2 || lenient[0] != 0x30 || static_cast<size_t>(lenient[1]) != lenient.size() - 2) return "";
  lenient.remove_prefix(2);
  BignumPtr r = TakeInteger(&lenient);
  BignumPtr s = TakeInteger(&lenient);
  if (r == nullptr || s == nullptr || !lenient.empty()) return "";
  ECDSA_SIG* signature = ECDSA_SIG_new();
  ECDSA_SIG_set0(signature, r.release(), s.release());
  uint8_t* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature, &der);
  std::string strict(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  ECDSA_SIG_free(signature);
  return strict;
}

bool VerifiesEcdsa(Curve curve, const std::string& public_key, absl::string_view body, const std::string& signature) {
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME,
                                       const_cast<char*>(curve == Curve::kP256 ? "prime256v1" : "secp256k1"), 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, const_cast<char*>(public_key.data()),
                                        public_key.size()),
      OSSL_PARAM_construct_end()};
  EvpPkeyCtxPtr ctx(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* raw = nullptr;
  if (EVP_PKEY_fromdata_init(ctx.get()) != 1 || EVP_PKEY_fromdata(ctx.get(), &raw, EVP_PKEY_PUBLIC_KEY, params) != 1) {
    return false;
  }
  EvpPkeyPtr key(raw);
  const std::string der = StrictDer(signature);
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  const bool ok = EVP_DigestVerifyInit(md, nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
                  EVP_DigestVerify(md, reinterpret_cast<const uint8_t*>(der.data()), der.size(),
                                   reinterpret_cast<const uint8_t*>(body.data()), body.size()) == 1;
  EVP_MD_CTX_free(md);
  return ok;
}

}  // namespace

const std::vector<StampVector>& StampVectors() {
  static const auto& vectors = *new std::vector<StampVector>(LoadVectors());
  return vectors;
}

bool Verifies(Curve curve, absl::string_view public_key_hex, absl::string_view body, absl::string_view signature_hex) {
  const std::string public_key = DecodeHex(public_key_hex).value();
  const std::string signature = DecodeHex(signature_hex).value();
  if (curve != Curve::kEd25519) return VerifiesEcdsa(curve, public_key, body, signature);
  return signature.size() == crypto_sign_BYTES &&
         crypto_sign_verify_detached(reinterpret_cast<const uint8_t*>(signature.data()),
                                     reinterpret_cast<const uint8_t*>(body.data()), body.size(),
                                     reinterpret_cast<const uint8_t*>(public_key.data())) == 0;
}

std::string SignNow(const Signer& signer, absl::string_view body) {
  std::string result;
  signer.Sign(RequestBody(std::string(body)), [&result](absl::StatusOr<std::string> signature) {
    ASSERT_TRUE(signature.ok()) << signature.status();
    result = *std::move(signature);
  });
  return result;
}

std::string StampJson(absl::string_view header_value) {
  std::string json;
  EXPECT_TRUE(absl::WebSafeBase64Unescape(header_value, &json));
  return json;
}

std::string StampMember(absl::string_view header_value, absl::string_view member) {
  simdjson::dom::parser parser;
  const std::string json = StampJson(header_value);
  return Text(parser.parse(json), std::string_view(member.data(), member.size()));
}

std::string PublicKeyDer(Curve curve, absl::string_view public_key_hex) {
  absl::string_view prefix;
  switch (curve) {
    case Curve::kP256:
      prefix = "3039301306072a8648ce3d020106082a8648ce3d030107032200";
      break;
    case Curve::kSecp256k1:
      prefix = "3036301006072a8648ce3d020106052b8104000a032200";
      break;
    case Curve::kEd25519:
      prefix = "302a300506032b6570032100";
      break;
  }
  return DecodeHex(absl::StrCat(prefix, public_key_hex)).value();
}

bool RunCommand(const std::string& command) { return std::system(command.c_str()) == 0; }

std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

}  // namespace stampgate
