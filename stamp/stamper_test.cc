#include "stamp/stamper.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/request_body.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

StampedRequest StampNow(std::shared_ptr<const Signer> signer, std::string body) {
  std::unique_ptr<StampedRequest> result;
  Stamper::Stamp(std::move(signer), "/public/v1/query/whoami", RequestBody(std::move(body)),
                 [&result](absl::StatusOr<StampedRequest> request) {
                   result = std::make_unique<StampedRequest>(std::move(request).value());
                 });
  return std::move(*result);
}

TEST(StamperTest, StampsTheBodyOfEveryVectorSuchThatOnlyThisBodyVerifies) {
  ASSERT_EQ(StampVectors().size(), 12u);
  for (const StampVector& vector : StampVectors()) {
    SCOPED_TRACE(vector.id);
    EXPECT_TRUE(Verifies(vector.curve, vector.public_key, vector.body, vector.signature));
    for (const std::string& key_text : vector.key_texts) {
      std::shared_ptr<const Signer> signer = MakeSigner(ParseKeyText(key_text).value()).value();
      EXPECT_EQ(signer->public_key_hex(), vector.public_key);
      StampedRequest request = StampNow(signer, vector.body);
      EXPECT_EQ(request.path(), "/public/v1/query/whoami");
      EXPECT_EQ(request.body(), vector.body);
      EXPECT_EQ(request.header_name(), "X-Stamp");
      EXPECT_EQ(StampMember(request.header_value(), "publicKey"), vector.public_key);
      EXPECT_EQ(StampMember(request.header_value(), "scheme"), vector.scheme);
      const std::string signature = StampMember(request.header_value(), "signature");
      EXPECT_TRUE(Verifies(vector.curve, vector.public_key, vector.body, signature));
      std::string flipped = vector.body;
      // Flips one bit at a time: every seventh bit of a short body, and about 300 bits of a long one. The step is odd,
      // so that every bit position of a byte is flipped.
      const size_t step = std::max<size_t>(7, 8 * flipped.size() / 300) | 1;
      for (size_t bit = 0; bit < 8 * flipped.size(); bit += step) {
        flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
        EXPECT_FALSE(Verifies(vector.curve, vector.public_key, flipped, signature));
        flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
      }
    }
  }
}

// A signer whose Sign returns the result that the test sets.
class FakeSigner final : public Signer {
 public:
  explicit FakeSigner(absl::StatusOr<std::string> answer, std::string public_key = "02ab")
      : answer_(std::move(answer)), public_key_(std::move(public_key)) {}

  absl::string_view public_key_hex() const override { return public_key_; }
  absl::string_view scheme() const override { return "SCHEME"; }
  void Sign(const RequestBody& body, Done done) const override { std::move(done)(answer_); }

 private:
  const absl::StatusOr<std::string> answer_;
  const std::string public_key_;
};

TEST(StamperTest, WritesTheMembersInUpstreamsOrderAndNoPadding) {
  for (const char* signature : {"30", "30aa", "30aabb"}) {
    StampedRequest request = StampNow(std::make_shared<FakeSigner>(signature), "{}");
    EXPECT_EQ(StampJson(request.header_value()),
              absl::StrCat(R"({"publicKey":"02ab","scheme":"SCHEME","signature":")", signature, R"("})"));
    EXPECT_EQ(request.header_value().find_first_of("=+/\r\n"), std::string::npos);
  }
}

absl::Status StatusOf(std::shared_ptr<const Signer> signer) {
  absl::Status status;
  Stamper::Stamp(std::move(signer), "/p", RequestBody("{}"),
                 [&status](absl::StatusOr<StampedRequest> request) { status = request.status(); });
  return status;
}

TEST(StamperTest, ReturnsTheSignersError) {
  const absl::Status away = absl::UnavailableError("the key is unavailable");
  EXPECT_EQ(StatusOf(std::make_shared<FakeSigner>(away)), away);
}

TEST(StamperTest, RejectsASignatureOrPublicKeyThatIsNotHex) {
  for (const char* answer : {"", "30\",\"x\":\"", "3g", "30\n"}) {
    EXPECT_EQ(StatusOf(std::make_shared<FakeSigner>(answer)).code(), absl::StatusCode::kInternal) << answer;
  }
  EXPECT_EQ(StatusOf(std::make_shared<FakeSigner>("30", "02\"")).code(), absl::StatusCode::kInternal);
}

// A signer that behaves as if its key were remote: when the test allows it, the signer reads the body and calls `done`
// on the signer's own thread.
class RemoteSigner final : public Signer {
 public:
  RemoteSigner(std::shared_ptr<const Signer> local, std::future<void>* allowed, std::thread* thread)
      : local_(std::move(local)), allowed_(allowed), thread_(thread) {}

  absl::string_view public_key_hex() const override { return local_->public_key_hex(); }
  absl::string_view scheme() const override { return local_->scheme(); }
  void Sign(const RequestBody& body, Done done) const override {
    *thread_ = std::thread([local = local_, allowed = allowed_, &body, done = std::move(done)]() mutable {
      allowed->wait();
      local->Sign(body, std::move(done));
    });
  }

 private:
  const std::shared_ptr<const Signer> local_;
  std::future<void>* const allowed_;
  std::thread* const thread_;
};

// Tests a short body, which a std::string stores inside the object, and a long one, which it stores on the heap.
TEST(StamperTest, TheBodyAndTheSignerLiveUntilTheSignerHasCalledBack) {
  const StampVector& vector = StampVectors()[0];
  for (const std::string& body : {std::string("{}"), std::string(100000, 'x')}) {
    std::promise<void> allow;
    std::future<void> allowed = allow.get_future();
    std::thread thread;
    std::thread::id done_on;
    std::unique_ptr<StampedRequest> result;
    auto signer = std::make_shared<RemoteSigner>(MakeSigner(ParseKeyText(vector.key_texts[0]).value()).value(),
                                                 &allowed, &thread);
    std::weak_ptr<const Signer> watched = signer;
    Stamper::Stamp(std::move(signer), "/p", RequestBody(body), [&](absl::StatusOr<StampedRequest> request) {
      done_on = std::this_thread::get_id();
      EXPECT_FALSE(watched.expired());
      result = std::make_unique<StampedRequest>(std::move(request).value());
    });
    EXPECT_EQ(result, nullptr);
    const std::thread::id thread_id = thread.get_id();
    allow.set_value();
    thread.join();
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(done_on, thread_id);
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(result->body(), body);
    EXPECT_TRUE(Verifies(vector.curve, vector.public_key, body, StampMember(result->header_value(), "signature")));
  }
}

}  // namespace
}  // namespace stampgate
