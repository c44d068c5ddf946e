#include "gateway/events/body_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/events/fake_output.h"
#include "gateway/events/testing.h"
#include "gateway/feed/feed.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::SizeIs;
using testing::StatusIs;
using Code = absl::StatusCode;

constexpr size_t kPiece = EventBodyRead::kPieceBytes;

std::string PieceOf(const std::string& bytes) {
  return testing::ValueAt(*testing::MessageIn("stampgate.v1.ReadEventBodyResponse", bytes), "chunk");
}

// Returns a body of which no two pieces are equal.
std::string BodyOf(size_t size) {
  std::string body;
  for (size_t i = 0; body.size() < size; ++i) absl::StrAppend(&body, i, ",");
  body.resize(size);
  return body;
}

// A call of ReadEventBody. The test controls its reads of the log.
class EventBodyReadTest : public EventCallTest {
 protected:
  EventBodyReadTest() { log_.Grow(4); }
  ~EventBodyReadTest() override {
    if (call_ == nullptr) return;
    EXPECT_TRUE(output_.end().has_value()) << "each test must end its call";
    EXPECT_THAT(lines(), SizeIs(1)) << "the end is recorded once";
    call_->Cancel();
  }

  void PutBody(Position position, std::string body, const std::string& organization = "odd") {
    Event event;
    event.event_id = "large";
    event.organization_id = organization;
    event.body = std::move(body);
    log_.Put(position, std::move(event));
  }

  void Start(const std::string& request) {
    request_ = RequestBytes("ReadEventBodyRequest", request);
    call_ = std::make_shared<EventBodyRead>(environment_, Identity(), Trace(), output_);
    call_->Start(request_);
  }

  // Serves the read of the next piece, and returns the piece.
  std::string Next() {
    source_.Serve();
    return PieceOf(output_.Take());
  }
  void OnSent(bool ok = true) { call_->OnSent(ok); }

  absl::Status End() const { return output_.end().value_or(absl::UnknownError("the call has not ended")); }
  std::string Reason() const { return DetailsOf(End()).reason; }

  FakeOutput output_{[this] { return source_.is_busy(); }};
  grpc::ByteBuffer request_;
  std::shared_ptr<EventBodyRead> call_;
};

TEST_F(EventBodyReadTest, ABodyIsSentInPiecesOfOneMebibyte) {
  const std::string body = BodyOf(2 * kPiece + 1);
  PutBody(3, body);
  Start("event_id: 'large'");
  EXPECT_EQ(body_reads_.taken(), 1u);
  EXPECT_EQ(subscriptions_.taken(), 0u);
  std::string read = Next();
  EXPECT_EQ(read.size(), kPiece);
  EXPECT_FALSE(source_.has_task()) << "only one piece is read for a slow caller";
  OnSent();
  read += Next();
  EXPECT_EQ(read.size(), 2 * kPiece);
  OnSent();
  read += Next();
  EXPECT_TRUE(read == body);
  EXPECT_FALSE(output_.end().has_value()) << "the last piece was not sent yet";
  OnSent();
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_EQ(output_.messages(), 3);
}

TEST_F(EventBodyReadTest, ABodyOfWholePiecesEndsWithoutAnEmptyPiece) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  OnSent();
  EXPECT_EQ(Next().size(), kPiece);
  OnSent();
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(EventBodyReadTest, AnOffsetOmitsTheBeginningOfTheBody) {
  PutBody(3, "0123456789");
  const std::vector<std::pair<int, std::string>> pieces = {{0, "0123456789"}, {4, "456789"}, {9, "9"}, {10, ""}};
  for (const auto& [offset, piece] : pieces) {
    FakeOutput output([this] { return source_.is_busy(); });
    const grpc::ByteBuffer request =
        RequestBytes("ReadEventBodyRequest", absl::StrCat("event_id: 'large' offset_bytes: ", offset));
    auto call = std::make_shared<EventBodyRead>(environment_, Identity(), Trace(), output);
    call->Start(request);
    source_.Serve();
    EXPECT_EQ(PieceOf(output.Take()), piece);
    call->OnSent(true);
    EXPECT_THAT(output.end(), Optional(absl::OkStatus()));
  }
}

TEST_F(EventBodyReadTest, AnEmptyBodyIsOneEmptyPiece) {
  PutBody(3, "");
  Start("event_id: 'large'");
  EXPECT_EQ(Next(), "");
  OnSent();
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(EventBodyReadTest, AnOffsetBeyondTheBodyIsAnError) {
  PutBody(3, "0123456789");
  Start("event_id: 'large' offset_bytes: 11");
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kOutOfRange));
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
}

// ---- Calls that are rejected ----

TEST_F(EventBodyReadTest, AStrangerIsRejected) {
  MakeStranger();
  Start("event_id: 'event-1'");
  EXPECT_EQ(End(), stranger_);
  EXPECT_THAT(lines(), ElementsAre("call_refused"));
}

TEST_F(EventBodyReadTest, ACallerWithoutAGrantIsRejected) {
  GrantNothing();
  Start("event_id: 'event-1'");
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(DetailsOf(End()).metadata["method"], "EventService/ReadEventBody");
}

TEST_F(EventBodyReadTest, ARequestWithoutAnEventIsRejected) {
  Start("offset_bytes: 1");
  EXPECT_THAT(End(), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(Reason(), "INVALID_REQUEST");
}

TEST_F(EventBodyReadTest, WithoutALogEveryCallIsRejected) {
  environment_.log = nullptr;
  Start("event_id: 'event-1'");
  EXPECT_EQ(Reason(), "EVENTS_NOT_CONFIGURED");
}

TEST_F(EventBodyReadTest, AReadBeyondTheLimitIsRejectedAndSubscriptionsDoNotCount) {
  const std::unique_ptr<StreamSlot> subscription = *subscriptions_.Take("another");
  std::unique_ptr<StreamSlot> first = *body_reads_.Take("another");
  const std::unique_ptr<StreamSlot> second = *body_reads_.Take("another");
  Start("event_id: 'event-1'");
  EXPECT_THAT(End(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MANY_SUBSCRIBERS");

  first = nullptr;
  FakeOutput output;
  auto next = std::make_shared<EventBodyRead>(environment_, Identity(), Trace(), output);
  next->Start(request_);
  source_.Serve();
  EXPECT_EQ(PieceOf(output.Take()), "{}");
  next->OnSent(true);
  EXPECT_THAT(output.end(), Optional(absl::OkStatus()));
  EXPECT_EQ(body_reads_.taken(), 1u);
  call_ = nullptr;
}

TEST_F(EventBodyReadTest, APieceForWhichThereIsNoMemoryEndsTheRead) {
  memory_.TakeAllBut(1);
  Start("event_id: 'event-1'");
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(Reason(), "TOO_MUCH_MEMORY");
  EXPECT_FALSE(output_.has_message());
}

TEST_F(EventBodyReadTest, APieceCountsUntilItIsSent) {
  Start("event_id: 'event-1'");
  source_.Serve();
  EXPECT_EQ(memory_.held(), output_.Take().size());
  call_->OnSent(true);
  EXPECT_THAT(End(), StatusIs(Code::kOk));
  EXPECT_EQ(memory_.held(), 0);
}

TEST_F(EventBodyReadTest, AnEventThatTheLogDoesNotHaveIsAnError) {
  Start("event_id: 'event-5'");
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kNotFound));
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventBodyReadTest, AnEventThatTheCallerMayNotSeeIsNotFound) {
  Grant("'even'");
  Start("event_id: 'event-1'");
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventBodyReadTest, ADamagedEventIsAnError) {
  log_.Damage(2);
  Start("event_id: 'event-2'");
  source_.Serve();
  EXPECT_THAT(End(), StatusIs(Code::kDataLoss));
  EXPECT_EQ(Reason(), "EVENT_DAMAGED");
}

// ---- Changes between two pieces of a body ----

TEST_F(EventBodyReadTest, ATokenThatExpiresIsAnErrorWithTheOffset) {
  PutBody(3, BodyOf(2 * kPiece));
  token_end_ = now_ + absl::Seconds(7);
  Start("event_id: 'large' offset_bytes: 5");
  Next();
  Pass(absl::Seconds(7));
  OnSent();
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(DetailsOf(End()).metadata["offset_bytes"], absl::StrCat(kPiece + 5));
  EXPECT_FALSE(source_.has_task());
}

TEST_F(EventBodyReadTest, ATokenThatExpiresDuringTheLastPieceHasNoEffect) {
  PutBody(3, "0123456789");
  token_end_ = now_ + absl::Seconds(7);
  Start("event_id: 'large'");
  Next();
  Pass(absl::Seconds(8));
  OnSent();
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(EventBodyReadTest, AConnectionThatHasReachedItsAgeEndsTheReadWithTheOffset) {
  PutBody(3, BodyOf(2 * kPiece));
  stream_end_ = steady_now_ + std::chrono::seconds(7);
  Start("event_id: 'large' offset_bytes: 5");
  Next();
  Pass(absl::Seconds(7));
  OnSent();
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
  EXPECT_EQ(DetailsOf(End()).metadata["offset_bytes"], absl::StrCat(kPiece + 5));
  EXPECT_FALSE(source_.has_task());
}

TEST_F(EventBodyReadTest, APolicyThatRemovesTheGrantEndsTheRead) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  GrantNothing();
  OnSent();
  source_.Serve();
  EXPECT_EQ(Reason(), "DENIED_BY_POLICY");
  EXPECT_EQ(output_.messages(), 1);
}

TEST_F(EventBodyReadTest, APolicyThatHidesTheEventEndsTheRead) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  Grant("'even'");
  OnSent();
  source_.Serve();  // the call reads by the old policy, and then authorizes the caller again
  EXPECT_FALSE(output_.has_message());
  EXPECT_EQ(identified_, 2);
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventBodyReadTest, ANewPolicyThatStillGrantsTheEventHasNoEffect) {
  const std::string body = BodyOf(kPiece + 100);
  PutBody(3, body);
  Start("event_id: 'large'");
  std::string read = Next();
  Grant("'odd'");
  OnSent();
  source_.Serve();
  read += Next();
  EXPECT_TRUE(read == body);
  OnSent();
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(EventBodyReadTest, AllPiecesComeFromTheSameEvent) {
  PutBody(2, BodyOf(3 * kPiece), "even");
  PutBody(3, BodyOf(2 * kPiece), "odd");
  Grant("'odd'");
  Start("event_id: 'large'");
  Next();
  Grant("'even'");  // hides the event at position 3, and shows the event at position 2, which has the same id
  OnSent();
  source_.Serve();
  source_.Serve();
  EXPECT_EQ(Reason(), "EVENT_NOT_FOUND");
}

TEST_F(EventBodyReadTest, ATokenThatExpiresDuringReauthorizationEndsTheReadAsExpired) {
  PutBody(3, BodyOf(2 * kPiece));
  token_end_ = now_ + absl::Seconds(7);
  Start("event_id: 'large'");
  Next();
  GrantAll();
  hold_identity_ = true;
  OnSent();
  source_.Serve();
  Pass(absl::Seconds(7));
  MakeStranger();
  Release();
  EXPECT_EQ(Reason(), "TOKEN_EXPIRED");
  EXPECT_EQ(DetailsOf(End()).metadata["offset_bytes"], absl::StrCat(kPiece));
}

TEST_F(EventBodyReadTest, ACallerThatANewPolicyDoesNotKnowIsRejected) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  GrantAll();
  MakeStranger();
  OnSent();
  source_.Serve();
  EXPECT_EQ(End(), stranger_);
}

TEST_F(EventBodyReadTest, TheEndOfTheGraceEndsTheReadBeforeTheNextPiece) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  ending_ = true;
  OnSent();
  EXPECT_THAT(End(), StatusIs(Code::kUnavailable));
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

TEST_F(EventBodyReadTest, ASourceThatEndsEndsTheRead) {
  Start("event_id: 'event-1'");
  source_.End();
  EXPECT_EQ(Reason(), "SHUTTING_DOWN");
}

// ---- Callers that leave ----

TEST_F(EventBodyReadTest, APieceThatIsNotSentEndsTheRead) {
  PutBody(3, BodyOf(2 * kPiece));
  Start("event_id: 'large'");
  Next();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
  EXPECT_FALSE(source_.has_task());
}

TEST_F(EventBodyReadTest, ACallWhoseLastPieceIsNotSentFails) {
  Start("event_id: 'event-1'");
  Next();
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

TEST_F(EventBodyReadTest, ACancelDuringAReadEndsTheCallAtItsNextPiece) {
  Start("event_id: 'event-1'");
  log_.OnRead([this] { call_->Cancel(); });
  Next();
  EXPECT_FALSE(output_.end().has_value()) << "the end must wait for the piece";
  OnSent(false);
  EXPECT_THAT(End(), StatusIs(Code::kCancelled));
}

// Uses the real feed and its threads. The test reloads the policy while it reads bodies.
TEST_F(EventBodyReadTest, WholeBodiesAreReadWhileThePolicyIsReloaded) {
  const std::string body = BodyOf(2 * kPiece + 7);
  PutBody(3, body);
  const std::unique_ptr<EventFeed> feed = *EventFeed::Start(log_, *encoder_, 2, feed_metrics_);
  served_.source = feed.get();
  std::thread reloads([this] {
    for (int i = 0; i < 200; ++i) Grant("'odd'");
  });
  constexpr int kRounds = 10;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kMaxStreams; ++i) {
    threads.emplace_back([this, &body] {
      for (int round = 0; round < kRounds; ++round) {
        FakeOutput output;
        const grpc::ByteBuffer request = RequestBytes("ReadEventBodyRequest", "event_id: 'large'");
        auto call = std::make_shared<EventBodyRead>(environment_, Identity(), Trace(), output);
        call->Start(request);
        std::string read;
        while (output.Wait()) {
          read += PieceOf(output.Take());
          Grant("'odd'");
          call->OnSent(true);
        }
        EXPECT_THAT(output.end(), Optional(absl::OkStatus()));
        EXPECT_TRUE(read == body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  reloads.join();
  EXPECT_GE(identified_, static_cast<int>(kMaxStreams) * kRounds * 3) << "at the beginning, and for two more pieces";
}

}  // namespace
}  // namespace stampgate
