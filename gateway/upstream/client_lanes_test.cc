// Tests how calls of the client share lanes, connections and loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "gateway/upstream/client_testing.h"
#include "gateway/upstream/scripted_server.h"
#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {
namespace {

using ::testing::AnyOf;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Connection = ScriptedServer::Connection;
using Lane = UpstreamClient::Lane;

// Lanes.

// Makes a call that upstream answers immediately, and returns its outcome.
UpstreamOutcome PostQuick(UpstreamClient& client, Lane lane, absl::Duration time = absl::InfiniteDuration()) {
  return Post(client, "{}", {.lane = lane, .deadline = In(time)});
}

TEST(UpstreamClientTest, AFullLaneDelaysNoOtherLane) {
  constexpr Lane kLanes[] = {Lane::kSubmit, Lane::kQuery, Lane::kKeySet};
  for (const Lane full : kLanes) {
    SCOPED_TRACE(static_cast<int>(full));
    HoldingServer holding;
    UpstreamClient::Options options = OptionsFor(holding.server);
    options.max_connections = 2;
    auto client = Connect(options);
    std::vector<Slot> held(2);
    for (Slot& slot : held) client->Post(Stamper::Make("/hold", "{}"), {.lane = full}, slot.callback(), nullptr);
    holding.WaitUntilHeld(2);
    Slot waiting;
    client->Post(Stamper::Make("/waiting", "{}"), {.lane = full}, waiting.callback(), nullptr);
    EXPECT_THAT(PostQuick(*client, full, kShort), Failed(Cause::kNoSlot, false));
    for (const Lane lane : kLanes) {
      if (lane != full) {
        EXPECT_THAT(PostQuick(*client, lane), IsAnswer(200, "{}")) << static_cast<int>(lane);
      }
    }
    EXPECT_EQ(waiting.calls(), 0);
    EXPECT_THAT(holding.server.requests(), SizeIs(4));
    holding.release.Set();
    for (Slot& slot : held) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
    EXPECT_THAT(waiting.Wait(), IsAnswer(200, "{}"));
  }
}

TEST(UpstreamClientTest, ShowsTheStateOfItsLanes) {
  HoldingServer holding;
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 1;
  MetricRegistry registry;
  UpstreamMetrics metrics(registry);
  auto client = Connect(options, metrics);
  Slot first;
  const auto id = client->Post(Stamper::Make("/hold", "{}"), {.lane = Lane::kQuery}, first.callback(), nullptr);
  holding.WaitUntilHeld(1);
  EXPECT_EQ(metrics[Lane::kQuery].in_flight.Value(), 1);
  EXPECT_THAT(PostQuick(*client, Lane::kQuery, kShort), Failed(Cause::kNoSlot, false));
  client->Cancel(id);
  EXPECT_THAT(first.Wait(), Failed(Cause::kCancelled, true));
  EXPECT_THAT(PostQuick(*client, Lane::kQuery), IsAnswer(200, "{}"));
  client.reset();
  EXPECT_EQ(metrics[Lane::kQuery].in_flight.Value(), 0);
  EXPECT_EQ(metrics[Lane::kQuery].waiting.Value(), 0);
  const auto of_query = [&](absl::string_view suffix) {
    return ValueOf(registry, absl::StrCat("stampgate_upstream_exchange_duration_seconds_", suffix, "{lane=\"query\"}"));
  };
  EXPECT_EQ(of_query("count"), "2");
  double seconds = 0;
  ASSERT_TRUE(absl::SimpleAtod(of_query("sum"), &seconds));
  EXPECT_GE(absl::Seconds(seconds), kShort);
}

TEST(UpstreamClientTest, BeginsNoSubmitWhileDetachedSubmitsFillTheirPlaces) {
  HoldingServer holding;
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 2;
  options.max_detached = 3;
  MetricRegistry registry;
  UpstreamMetrics metrics(registry);
  auto client = Connect(options, metrics);
  std::vector<Slot> done(4);
  std::vector<Slot> late(4);
  std::vector<UpstreamClient::CallId> ids;
  const auto begin_two = [&] {
    for (int i = 0; i < 2; ++i) {
      const size_t n = ids.size();
      ids.push_back(client->Post(Stamper::Make("/hold", "{}"), {}, done[n].callback(), late[n].callback()));
    }
    holding.WaitUntilHeld(static_cast<int>(ids.size()));
  };
  // When a submit is detached, its slot in the submit lane is free for the next submit.
  begin_two();
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  for (int i = 0; i < 2; ++i) client->Cancel(ids[i]);
  begin_two();
  // The third detached submit takes the last slot of detached submits. So no submit begins, although the submit lane
  // has a free slot.
  client->Cancel(ids[2]);
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  // A submit that has already begun can still be detached.
  client->Cancel(ids[3]);
  for (Slot& slot : done) EXPECT_THAT(slot.Wait(), Detached(Cause::kCancelled));
  EXPECT_EQ(metrics.detached.Value(), 4);
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  std::vector<Slot> waiting(5);
  for (size_t i = 0; i < waiting.size(); ++i) {
    client->Post(Stamper::Make(absl::StrCat("/waiting", i), "{}"), {}, waiting[i].callback(), nullptr);
  }
  for (const Lane lane : {Lane::kQuery, Lane::kKeySet}) EXPECT_THAT(PostQuick(*client, lane), IsAnswer(200, "{}"));
  EXPECT_THAT(holding.server.requests(), SizeIs(6));

  holding.release.Set();
  for (Slot& slot : late) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  for (Slot& slot : waiting) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  client->Shutdown(absl::InfiniteDuration());
  EXPECT_EQ(metrics.detached.Value(), 0);
}

// Many calls.

// Responds to each request with the request's body, so that a test detects a response to another request.
ScriptedServer::Script Echo() {
  return [](Connection& connection) {
    while (const auto request = connection.ReadRequest()) connection.Write(JsonResponse(BodyOf(*request)));
  };
}

TEST(UpstreamClientTest, EachCallerGetsItsOwnOutcomeOnce) {
  ScriptedServer server(Echo());
  auto client = Connect(OptionsFor(server));
  constexpr int kThreads = 64;
  constexpr int kCalls = 50;
  std::vector<std::vector<Slot>> done(kThreads, std::vector<Slot>());
  std::vector<std::vector<Slot>> late(kThreads, std::vector<Slot>());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int c = 0; c < kCalls; ++c) {
        Slot& slot = done[t].emplace_back();
        UpstreamClient::CallOptions options;
        if (c % 5 == 1) options.deadline = In(absl::Microseconds(100 * c));
        options.lane = c % 2 == 1 ? Lane::kSubmit : Lane::kQuery;
        const auto id = client->Post(Stamper::Make("/p", absl::StrCat(t, "/", c)), options, slot.callback(),
                                     late[t].emplace_back().callback());
        if (c % 5 == 2) client->Cancel(id);
        if (c % 5 == 3) slot.Wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  client->Shutdown(absl::FromChrono(kHang));
  for (int t = 0; t < kThreads; ++t) {
    for (int c = 0; c < kCalls; ++c) {
      EXPECT_EQ(done[t][c].calls(), 1);
      const std::string body = absl::StrCat(t, "/", c);
      if (c % 5 != 1 && c % 5 != 2) {
        EXPECT_THAT(done[t][c].Wait(), IsAnswer(200, body));
      } else {
        const Cause cause = c % 5 == 1 ? Cause::kTimeout : Cause::kCancelled;
        EXPECT_THAT(done[t][c].Wait(), AnyOf(IsAnswer(200, body), Failed(cause, true), Failed(cause, false),
                                             Detached(cause), Failed(Cause::kNoSlot, false)));
      }
      EXPECT_EQ(late[t][c].calls(), GoesOn(done[t][c].Wait()) ? 1 : 0);
      if (late[t][c].calls() == 1) {
        EXPECT_THAT(late[t][c].Wait(), IsAnswer(200, body));
      }
    }
  }
}

TEST(UpstreamClientTest, AThousandCallsShareAHundredConnections) {
  constexpr int kCalls = 1000;
  constexpr int kConnections = 100;
  struct {
    Mutex mutex;
    int count ABSL_GUARDED_BY(mutex) = 0;
  } waiting;
  Signal all_busy;
  Signal release;
  ScriptedServer server([&](Connection& connection) {
    while (const auto request = connection.ReadRequest()) {
      {
        MutexLock lock(waiting.mutex);
        if (++waiting.count == kConnections) all_busy.Set();
      }
      release.Wait();
      connection.Write(JsonResponse(BodyOf(*request)));
    }
  });
  UpstreamClient::Options options = OptionsFor(server);
  options.max_connections = kConnections;
  auto client = Connect(options);
  std::vector<Slot> slots(kCalls);
  std::vector<UpstreamClient::CallId> ids;
  for (int i = 0; i < kCalls; ++i) {
    ids.push_back(client->Post(Stamper::Make("/p", absl::StrCat(i)), {}, slots[i].callback(), nullptr));
  }
  all_busy.Wait();
  EXPECT_THAT(server.requests(), SizeIs(kConnections));
  for (int i = kConnections; i < kCalls; i += 3) client->Cancel(ids[i]);
  for (int i = kConnections; i < kCalls; i += 3) {
    EXPECT_THAT(slots[i].Wait(), Failed(Cause::kCancelled, false));
  }
  release.Set();
  for (int i = 0; i < kCalls; ++i) {
    if (i >= kConnections && (i - kConnections) % 3 == 0) continue;
    EXPECT_THAT(slots[i].Wait(), IsAnswer(200, absl::StrCat(i)));
    EXPECT_EQ(slots[i].calls(), 1);
  }
  EXPECT_EQ(server.connections(), kConnections);
}

// Several loops.

TEST(UpstreamClientTest, ACallEndsOnTheLoopOnWhichItBegan) {
  ScriptedServer server(Echo());
  const auto loops = std::make_shared<EventLoops>(3);
  auto client = *UpstreamClient::Create(OptionsFor(server), loops, SomeMetrics());
  constexpr int kCalls = 300;
  std::vector<Slot> slots(kCalls);
  std::atomic<int> strayed = 0;
  for (int i = 0; i < kCalls; ++i) {
    EventLoop& loop = (*loops)[i % 3];
    loop.Run([&, i] {
      client->Post(
          Stamper::Make("/p", absl::StrCat(i)), {},
          [&, done = slots[i].callback()](UpstreamOutcome outcome) mutable {
            if (EventLoop::Current() != &loop) ++strayed;
            done(std::move(outcome));
          },
          nullptr);
    });
  }
  for (int i = 0; i < kCalls; ++i) EXPECT_THAT(slots[i].Wait(), IsAnswer(200, absl::StrCat(i)));
  EXPECT_EQ(strayed, 0);
}

TEST(UpstreamClientTest, TheLoopsShareThePlaces) {
  HoldingServer holding;
  const auto loops = std::make_shared<EventLoops>(3);
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 2;
  auto client = *UpstreamClient::Create(options, loops, SomeMetrics());
  std::vector<Slot> slots(9);
  std::vector<UpstreamClient::CallId> ids(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    (*loops)[i % 3].Run(
        [&, i] { ids[i] = client->Post(Stamper::Make("/hold", "{}"), {}, slots[i].callback(), nullptr); });
    loops->WaitForTasks();
  }
  holding.WaitUntilHeld(2);
  // Calls that wait may be cancelled on any thread.
  for (const size_t i : {2, 3, 8}) client->Cancel(ids[i]);
  for (const size_t i : {2, 3, 8}) EXPECT_THAT(slots[i].Wait(), Failed(Cause::kCancelled, false));
  holding.WaitUntilHeld(2);
  holding.release.Set();
  for (const size_t i : {0, 1, 4, 5, 6, 7}) EXPECT_THAT(slots[i].Wait(), IsAnswer(200, "{}"));
}

TEST(UpstreamClientTest, ShutdownEndsTheCallsOfAllLoops) {
  HangingServer hanging;
  const auto loops = std::make_shared<EventLoops>(3);
  auto client = *UpstreamClient::Create(OptionsFor(hanging.server), loops, SomeMetrics());
  std::vector<Slot> slots(9);
  for (size_t i = 0; i < slots.size(); ++i) {
    (*loops)[i % 3].Run([&, i] { client->Post(Stamper::Make("/p", "{}"), {}, slots[i].callback(), nullptr); });
  }
  hanging.received.Wait();
  loops->WaitForTasks();
  client->Shutdown(absl::Milliseconds(20));
  for (Slot& slot : slots) {
    EXPECT_EQ(slot.calls(), 1);
    EXPECT_THAT(slot.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  }
}

TEST(UpstreamClientTest, MayBeCalledFromItsCallbacks) {
  ScriptedServer server(Echo());
  auto client = Connect(OptionsFor(server));
  Slot last;
  std::function<void(int)> post = [&](int left) {
    client->Post(
        Stamper::Make("/p", absl::StrCat(left)), {},
        [&, left](UpstreamOutcome outcome) {
          if (left == 0) return last.callback()(std::move(outcome));
          post(left - 1);
          client->Cancel(1);
        },
        nullptr);
  };
  post(20);
  EXPECT_THAT(last.Wait(), IsAnswer(200, "0"));
}

}  // namespace
}  // namespace stampgate
