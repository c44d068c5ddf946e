#include "stamp/stamper.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr absl::string_view kHeaderName = "X-Stamp";

// The state of one Stamp call. It is on the heap, because the body must not move while a signer reads it.
struct Pending {
  std::shared_ptr<const Signer> signer;
  std::string path;
  RequestBody body;
  Stamper::Done done;
};

bool IsHex(absl::string_view text) { return !text.empty() && absl::c_all_of(text, absl::ascii_isxdigit); }

// Returns the value of the X-Stamp header. No text in its JSON needs escaping: the scheme is a constant of the signer's
// class, and the key and the signature are hex.
std::string HeaderValue(const Signer& signer, absl::string_view signature) {
  return absl::WebSafeBase64Escape(absl::StrCat(R"({"publicKey":")", signer.public_key_hex(), R"(","scheme":")",
                                                signer.scheme(), R"(","signature":")", signature, R"("})"));
}

}  // namespace

void Stamper::Stamp(std::shared_ptr<const Signer> signer, std::string path, RequestBody body, Done done) {
  auto pending =
      std::make_unique<Pending>(Pending{std::move(signer), std::move(path), std::move(body), std::move(done)});
  const Pending& kept = *pending;
  kept.signer->Sign(kept.body, [pending = std::move(pending)](absl::StatusOr<std::string> signature) {
    if (!signature.ok()) return std::move(pending->done)(std::move(signature).status());
    if (!IsHex(*signature) || !IsHex(pending->signer->public_key_hex())) {
      return std::move(pending->done)(
          absl::InternalError("the signer returned a signature or a public key that is not hex"));
    }
    std::string value = HeaderValue(*pending->signer, *signature);
    std::move(pending->done)(StampedRequest(std::move(pending->path), std::move(pending->body).TakeBytes(),
                                            std::string(kHeaderName), std::move(value)));
  });
}

}  // namespace stampgate
