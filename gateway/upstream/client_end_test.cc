// Tests how calls of the client end: at their deadline, if they are cancelled, and at a shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "gateway/upstream/client_testing.h"
#include "gateway/upstream/scripted_server.h"

namespace stampgate {
namespace {

using ::testing::AnyOf;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Lane = UpstreamClient::Lane;

// Time and cancellation.

TEST(UpstreamClientTest, DoesNotBeginAfterTheDeadline) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  for (const auto deadline :
       {In(absl::ZeroDuration()), In(-absl::Hours(1)), UpstreamClient::Clock::time_point::min()}) {
    EXPECT_THAT(Post(*client, "{}", {.lane = Lane::kSubmit, .deadline = deadline}), Failed(Cause::kTimeout, false));
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST(UpstreamClientTest, StopsAtTheDeadlineBeforeAnythingIsSent) {
  const BlackHole black_hole;
  auto client = Connect(OptionsFor(black_hole.url));
  for (const Lane lane : {Lane::kQuery, Lane::kSubmit}) {
    EXPECT_THAT(Post(*client, "{}", {.lane = lane, .deadline = In(absl::Milliseconds(20))}),
                Failed(Cause::kTimeout, false));
    Slot slot;
    client->Cancel(client->Post(Stamper::Make("/p", "{}"), {.lane = lane}, slot.callback(), nullptr));
    EXPECT_THAT(slot.Wait(), Failed(Cause::kCancelled, false));
  }
}

TEST(UpstreamClientTest, StopsAtTheDeadlineAfterTheBodyIsSent) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kQuery, .deadline = In(kShort)}, done.callback(),
               late.callback());
  EXPECT_THAT(done.Wait(), Failed(Cause::kTimeout, true));
  hanging.release.Set();
  EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
  EXPECT_EQ(hanging.server.connections(), 2);
  EXPECT_EQ(late.calls(), 0);
}

TEST(UpstreamClientTest, DetachesAtTheDeadlineAfterTheBodyIsSent) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit, .deadline = In(kShort)},
                               done.callback(), late.callback());
  EXPECT_THAT(done.Wait(), Detached(Cause::kTimeout));
  client->Cancel(id);  // has no effect, because the exchange is detached
  EXPECT_EQ(late.calls(), 0);
  hanging.release.Set();
  EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
  EXPECT_EQ(hanging.server.connections(), 1);
  EXPECT_EQ(done.calls(), 1);
  EXPECT_EQ(late.calls(), 1);
}

TEST(UpstreamClientTest, CancelsAfterTheBodyIsSent) {
  for (const Lane lane : {Lane::kQuery, Lane::kSubmit}) {
    HangingServer hanging;
    auto client = Connect(OptionsFor(hanging.server));
    Slot done;
    Slot late;
    const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = lane}, done.callback(), late.callback());
    hanging.received.Wait();
    client->Cancel(id);
    client->Cancel(id);
    client->Cancel(id + 1000);
    if (lane == Lane::kSubmit) {
      EXPECT_THAT(done.Wait(), Detached(Cause::kCancelled));
    } else {
      EXPECT_THAT(done.Wait(), Failed(Cause::kCancelled, true));
    }
    hanging.release.Set();
    if (lane == Lane::kSubmit) {
      EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
    }
    EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
    EXPECT_EQ(hanging.server.connections(), lane == Lane::kSubmit ? 1 : 2);
    EXPECT_EQ(done.calls(), 1);
    EXPECT_EQ(late.calls(), lane == Lane::kSubmit ? 1 : 0);
  }
}

TEST(UpstreamClientTest, EndsADetachedExchangeAtTheExchangeTimeout) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.exchange_timeout = absl::Seconds(2);
  auto client = Connect(options);
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  EXPECT_THAT(done.Wait(), Detached(Cause::kCancelled));
  EXPECT_THAT(late.Wait(), Failed(Cause::kTimeout, true));
}

TEST(UpstreamClientTest, DoesNotDetachWhatTheExchangeTimeoutEnds) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.exchange_timeout = absl::Seconds(1);
  auto client = Connect(options);
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  EXPECT_THAT(done.Wait(), Failed(Cause::kTimeout, true));
  client->Cancel(id);
  client->Shutdown(absl::InfiniteDuration());
  EXPECT_EQ(done.calls(), 1);
  EXPECT_EQ(late.calls(), 0);
}

TEST(UpstreamClientTest, EndsCallsThatWaitForAConnection) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.max_connections = 1;
  auto client = Connect(options);
  Slot first;
  client->Post(Stamper::Make("/first", "{}"), {}, first.callback(), nullptr);
  hanging.received.Wait();
  Slot cancelled;
  const auto id =
      client->Post(Stamper::Make("/cancelled", "{}"), {.lane = Lane::kSubmit}, cancelled.callback(), nullptr);
  Slot last;
  client->Post(Stamper::Make("/last", "{}"), {}, last.callback(), nullptr);
  EXPECT_THAT(Post(*client, "{}", {.deadline = In(kShort)}), Failed(Cause::kNoSlot, false));
  client->Cancel(id);
  EXPECT_THAT(cancelled.Wait(), Failed(Cause::kCancelled, false));
  hanging.release.Set();
  EXPECT_THAT(first.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(last.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(hanging.server.requests(), SizeIs(2));
}

// Shutdown.

TEST(UpstreamClientTest, ShutdownEndsTheRemainingExchanges) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.max_connections = 1;
  auto client = Connect(options);
  Slot running;
  Slot detached;
  Slot late;
  Slot waiting;
  const auto id =
      client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, detached.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  EXPECT_THAT(detached.Wait(), Detached(Cause::kCancelled));
  client->Post(Stamper::Make("/p", "{}"), {}, running.callback(), nullptr);
  client->Post(Stamper::Make("/p", "{}"), {}, waiting.callback(), nullptr);
  client->Shutdown(absl::Milliseconds(20));
  EXPECT_EQ(running.calls() + waiting.calls() + late.calls(), 3);
  EXPECT_THAT(running.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  EXPECT_THAT(waiting.Wait(), Failed(Cause::kShutdown, false));
  EXPECT_THAT(late.Wait(), Failed(Cause::kShutdown, true));
  EXPECT_THAT(Post(*client), Failed(Cause::kShutdown, false));
  client->Shutdown(absl::InfiniteDuration());
}

TEST(UpstreamClientTest, ShutdownWaitsForDetachedExchanges) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  done.Wait();
  std::thread shutdown([&] { client->Shutdown(absl::InfiniteDuration()); });
  hanging.release.Set();
  shutdown.join();
  EXPECT_EQ(late.calls(), 1);
  EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
}

TEST(UpstreamClientTest, TheDestructorEndsEveryCall) {
  HangingServer hanging;
  std::vector<Slot> slots(100);
  {
    auto client = Connect(OptionsFor(hanging.server));
    for (Slot& slot : slots) client->Post(Stamper::Make("/p", "{}"), {}, slot.callback(), nullptr);
  }
  for (Slot& slot : slots) EXPECT_EQ(slot.calls(), 1);
  for (Slot& slot : slots) {
    EXPECT_THAT(slot.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  }
}

}  // namespace
}  // namespace stampgate
