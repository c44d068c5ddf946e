#include "stamp/verifying_signer.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

constexpr char kHexKey[] = "cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739";

std::shared_ptr<const Signer> SignerOn(Curve curve) {
  return MakeSigner(ParseKeyText(absl::StrCat(kHexKey, ":", CurveName(curve))).value()).value();
}

// A signer that passes each signature of another signer through `fault`. If `late` is true, the signer delays the
// result.
class FaultySigner final : public Signer {
 public:
  explicit FaultySigner(std::shared_ptr<const Signer> signer) : signer_(std::move(signer)) {}

  absl::string_view public_key_hex() const override {
    return public_key_.empty() ? signer_->public_key_hex() : public_key_;
  }
  absl::string_view scheme() const override { return scheme_.empty() ? signer_->scheme() : scheme_; }
  void Sign(const RequestBody& body, Done done) const override {
    signer_->Sign(body, [this, &done](absl::StatusOr<std::string> signature) {
      signature = fault(*std::move(signature));
      if (!late) return std::move(done)(std::move(signature));
      waiting = [done = std::move(done), signature = std::move(signature)]() mutable {
        std::move(done)(std::move(signature));
      };
    });
  }

  void SetPublicKey(std::string hex) { public_key_ = std::move(hex); }
  void SetScheme(std::string scheme) { scheme_ = std::move(scheme); }

  std::function<absl::StatusOr<std::string>(std::string)> fault = [](std::string signature) { return signature; };
  bool late = false;  // Sign stores the result in `waiting`, which calls `done`
  mutable absl::AnyInvocable<void()> waiting;

 private:
  const std::shared_ptr<const Signer> signer_;
  std::string public_key_;
  std::string scheme_;
};

absl::StatusOr<std::string> SignatureOf(const Signer& signer, const std::string& body) {
  absl::StatusOr<std::string> result = absl::UnknownError("Sign did not call back");
  signer.Sign(RequestBody(body), [&result](absl::StatusOr<std::string> signature) { result = std::move(signature); });
  return result;
}

class VerifyingSignerTest : public testing::TestWithParam<Curve> {
 protected:
  const std::shared_ptr<FaultySigner> faulty_ = std::make_shared<FaultySigner>(SignerOn(GetParam()));
  const std::shared_ptr<const Signer> signer_ = MakeVerifyingSigner(faulty_).value();
};

INSTANTIATE_TEST_SUITE_P(Curves, VerifyingSignerTest, testing::ValuesIn(kCurves),
                         [](const auto& info) { return std::string(CurveName(info.param)); });

TEST_P(VerifyingSignerTest, HasTheKeyAndTheSchemeOfItsSigner) {
  EXPECT_EQ(signer_->public_key_hex(), faulty_->public_key_hex());
  EXPECT_EQ(signer_->scheme(), StampScheme(GetParam()));
}

TEST_P(VerifyingSignerTest, ReturnsASignatureThatVerifies) {
  for (const std::string& body : {std::string(), std::string("{}"), std::string(1 << 20, 'x')}) {
    EXPECT_TRUE(Verifies(GetParam(), signer_->public_key_hex(), body, SignNow(*signer_, body))) << body.size();
  }
}

TEST_P(VerifyingSignerTest, RejectsASignatureWithAnyByteChanged) {
  const size_t digits = SignNow(*signer_, "{}").size();
  for (size_t i = 0; i < digits; ++i) {
    faulty_->fault = [i](std::string signature) {
      const size_t at = i % signature.size();
      signature[at] = signature[at] == '0' ? '1' : '0';
      return signature;
    };
    EXPECT_EQ(SignatureOf(*signer_, "{}").status().code(), absl::StatusCode::kInternal) << i;
  }
}

TEST_P(VerifyingSignerTest, RejectsASignatureOfAnotherBody) {
  faulty_->fault = [other = SignNow(*signer_, "{ }")](const std::string&) { return other; };
  EXPECT_EQ(SignatureOf(*signer_, "{}").status().code(), absl::StatusCode::kInternal);
}

TEST_P(VerifyingSignerTest, RejectsATextThatIsNoSignature) {
  for (const char* text : {"", "00", "no hex", "30"}) {
    faulty_->fault = [text](const std::string&) { return text; };
    EXPECT_EQ(SignatureOf(*signer_, "{}").status().code(), absl::StatusCode::kInternal) << text;
  }
}

TEST_P(VerifyingSignerTest, ReturnsTheErrorOfItsSigner) {
  faulty_->fault = [](const std::string&) { return absl::UnavailableError("the device is locked"); };
  EXPECT_EQ(SignatureOf(*signer_, "{}").status(), absl::UnavailableError("the device is locked"));
}

TEST_P(VerifyingSignerTest, VerifiesASignatureThatArrivesAfterTheSignerIsGone) {
  faulty_->late = true;
  std::shared_ptr<const Signer> signer = MakeVerifyingSigner(faulty_).value();
  const RequestBody body("{}");
  std::string late;
  signer->Sign(body, [&late](const absl::StatusOr<std::string>& signature) { late = signature.value(); });
  signer.reset();
  EXPECT_EQ(late, "");
  faulty_->waiting();
  EXPECT_TRUE(Verifies(GetParam(), faulty_->public_key_hex(), "{}", late));
}

TEST_P(VerifyingSignerTest, IsNotMadeForAnInvalidPublicKey) {
  for (const std::string& hex : {std::string(), std::string("02"), std::string(70, 'f')}) {
    auto signer = std::make_shared<FaultySigner>(SignerOn(GetParam()));
    signer->SetPublicKey(hex.empty() ? "zz" : hex);
    EXPECT_EQ(MakeVerifyingSigner(signer).status().code(), absl::StatusCode::kInvalidArgument) << hex;
  }
}

TEST_P(VerifyingSignerTest, IsNotMadeForAnUnknownScheme) {
  faulty_->SetScheme("SIGNATURE_SCHEME_OF_TOMORROW");
  EXPECT_EQ(MakeVerifyingSigner(faulty_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stampgate
