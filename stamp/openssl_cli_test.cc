// Verifies with OpenSSL's command line the stamps that this folder's code makes. The command line is independent of
// this code.
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "base/testing/temporary_file.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/key_generator.h"
#include "stamp/make_signer.h"
#include "stamp/request_body.h"
#include "stamp/stamp_testing.h"
#include "stamp/stamper.h"

namespace stampgate {
namespace {

void ExpectGenuine(Curve curve, int bodies) {
  const std::string directory = TempPath(CurveName(curve));
  ASSERT_TRUE(RunCommand(absl::StrCat("rm -rf ", directory, " && mkdir ", directory)));
  const std::string key_path = directory + "/new.key";
  const std::string public_key = GenerateKeyFile(curve, key_path).value();
  const std::string der = PublicKeyDer(curve, public_key);
  WriteTemp(absl::StrCat(CurveName(curve), "/public.der"), der);
  std::shared_ptr<const Signer> signer = MakeSigner(ReadKeyFile(key_path).value()).value();
  for (int i = 0; i < bodies; ++i) {
    const std::string body =
        absl::StrCat("{\"i\":", i, ",\"fill\":\"", std::string(static_cast<size_t>(i) * 7, 'x'), "\"}\n");
    Stamper::Stamp(signer, "/", RequestBody(body), [&](absl::StatusOr<StampedRequest> request) {
      const std::string signature = DecodeHex(StampMember(request.value().header_value(), "signature")).value();
      WriteTemp(absl::StrCat(CurveName(curve), "/", i, ".body"), body);
      WriteTemp(absl::StrCat(CurveName(curve), "/", i, ".signature"), signature);
    });
  }
  const std::string verify =
      curve == Curve::kEd25519
          ? "openssl pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin -sigfile $i.signature -in $body"
          : "openssl dgst -sha256 -keyform DER -verify public.der -signature $i.signature $body";
  const std::string loop = absl::StrCat("cd ", directory, " && for i in $(seq 0 ", bodies - 1, "); do body=");
  EXPECT_TRUE(RunCommand(absl::StrCat(loop, "$i.body; ", verify, " >/dev/null || exit 1; done")));
  // This is the negative control: the first ten signatures must be invalid for the text of the key file, which they do
  // not sign.
  EXPECT_TRUE(
      RunCommand(absl::StrCat(loop, "new.key; ", verify, " >/dev/null 2>&1 && exit 1; test $i = 9 && exit 0; done")));
}

TEST(OpensslCliTest, VerifiesP256) { ExpectGenuine(Curve::kP256, 200); }
TEST(OpensslCliTest, VerifiesSecp256k1) { ExpectGenuine(Curve::kSecp256k1, 50); }
TEST(OpensslCliTest, VerifiesEd25519) { ExpectGenuine(Curve::kEd25519, 50); }

}  // namespace
}  // namespace stampgate
