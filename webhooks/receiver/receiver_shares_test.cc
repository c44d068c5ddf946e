// Tests that one source, which does all that it can, neither uses more than the account nor keeps others out, and that
// slow bodies end. The sources are those that PROXY headers state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/http/test_certificates.h"
#include "base/http/test_client.h"
#include "base/http/test_tls_client.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "webhooks/receiver/receiver.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAttack[] = "192.0.2.1";
constexpr char kHonest[] = "192.0.2.2";
constexpr size_t kMaxBody = 1 << 20;

std::string ProxyHeader(absl::string_view source) { return absl::StrCat("PROXY TCP4 ", source, " 10.0.0.1 1 443\r\n"); }

std::string Head(size_t length) {
  return absl::StrCat("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: ", length, "\r\n\r\n");
}

std::string Post(const std::string& body) { return absl::StrCat(Head(body.size()), body); }

// The whole body of a delivery but its last byte.
std::string Unfinished(size_t length = kMaxBody) { return absl::StrCat(Head(length), std::string(length - 1, 'a')); }

class ReceiverSharesTest : public ::testing::Test {
 protected:
  void Start(ReceiverOptions options = {}) {
    options.listen_address = "127.0.0.1:0";
    options.paths = [] { return std::vector<std::string>{"/hook"}; };
    options.max_body_bytes = kMaxBody;
    if (options.max_bytes == ReceiverOptions().max_bytes) options.max_bytes = 8 << 20;
    EXPECT_EQ(options.proxies.Add("127.0.0.1"), absl::OkStatus());
    options.on_refused = [this](HttpRefusal refusal) {
      const MutexLock lock(mutex_);
      ++refusals_[std::string(Name(refusal))];
      changed_.WakeAll();
    };
    auto receiver = Receiver::Start(std::move(options), loops_, [this](Delivery delivery, Answer answer) {
      if (delivery.body == "wait") {
        const MutexLock lock(mutex_);
        waiting_.push_back(std::move(answer));
        changed_.WakeAll();
        return;
      }
      answer(delivery.body == "forged" ? 401 : 200);
    });
    if (!receiver.ok()) {
      ADD_FAILURE() << receiver.status();
      std::abort();
    }
    receiver_ = *std::move(receiver);
  }

  std::unique_ptr<HttpTestClient> Connect(absl::string_view source) const {
    auto client = std::make_unique<HttpTestClient>(receiver_->url());
    client->Send(ProxyHeader(source));
    return client;
  }

  std::string Deliver(absl::string_view source, const std::string& body = "{}") const {
    const auto client = Connect(source);
    client->Send(Post(body));
    return Statuses(client->ReadAnswer());
  }

  // Waits until the receiver has refused `count` requests for this reason.
  void AwaitRefusals(const std::string& name, int count) {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (refusals_[name] < count && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_GE(refusals_[name], count) << name;
  }

  // Waits for the delivery "wait", and takes its answer.
  Answer AwaitDelivery() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (waiting_.empty() && !changed_.WaitUntil(mutex_, deadline)) {
    }
    if (waiting_.empty()) {
      ADD_FAILURE() << "no delivery has arrived";
      std::abort();
    }
    Answer answer = std::move(waiting_.back());
    waiting_.pop_back();
    return answer;
  }

  std::map<std::string, int> Refusals() {
    const MutexLock lock(mutex_);
    return refusals_;
  }

  // Waits until connections and deliveries use at least, or at most, this much memory.
  void AwaitHeld(size_t least, size_t most) const {
    for (int i = 0; i < 6000; ++i) {
      const size_t held = receiver_->held_bytes();
      if (held >= least && held <= most) return;
      absl::SleepFor(absl::Milliseconds(10));
    }
    ADD_FAILURE() << receiver_->held_bytes() << " bytes, and not from " << least << " to " << most;
  }

  const TestFolder folder_;
  const std::shared_ptr<EventLoops> loops_ = std::make_shared<EventLoops>(2);
  Mutex mutex_;
  Condition changed_;
  std::map<std::string, int> refusals_ ABSL_GUARDED_BY(mutex_);
  std::vector<Answer> waiting_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Receiver> receiver_;
};

using Clients = std::vector<std::unique_ptr<HttpTestClient>>;

TEST_F(ReceiverSharesTest, UnfinishedBodiesOfOneSourceUseNoMoreThanTheAccount) {
  Start();
  Clients attack;
  for (int i = 0; i < 40; ++i) {
    attack.push_back(Connect(kAttack));
    attack.back()->Send(Unfinished());
    EXPECT_LE(receiver_->held_bytes(), size_t{8} << 20);
  }
  AwaitRefusals("max_bytes_reached", 30);
  EXPECT_LE(receiver_->held_bytes(), size_t{8} << 20);
  EXPECT_GE(receiver_->held_bytes(), size_t{3} << 20) << "the source alone may use all";
  // Another source has its share at once, and again. The share is half of the account without the connections, which
  // is 2 MiB, and a body needs twice its size while its pieces are joined.
  const std::string large(kMaxBody - (64 << 10), 'b');
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Deliver(kHonest, large), "200") << i;
  EXPECT_EQ(Refusals().size(), 1u);
  EXPECT_EQ(Statuses(attack[0]->ReadToEnd()), "503.") << "upstream repeats what gets 503";
  attack.clear();
  AwaitHeld(0, 1 << 20);
}

// Behind a load balancer without PROXY headers, all have one source.
TEST_F(ReceiverSharesTest, SmallDeliveriesPassAlthoughAnAttackerSharesTheirSource) {
  Start();
  Clients attack;
  for (int i = 0; i < 60; ++i) {
    attack.push_back(Connect(kHonest));
    attack.back()->Send(Unfinished());
    EXPECT_EQ(Deliver(kHonest, std::string(5000, 'b')), "200") << i;
  }
  AwaitRefusals("max_bytes_reached", 40);
  EXPECT_LE(receiver_->held_bytes(), size_t{8} << 20);
}

TEST_F(ReceiverSharesTest, ASourceOnAllPlacesDoesNotKeepOthersOut) {
  ReceiverOptions options;
  options.max_connections = 16;
  Start(std::move(options));
  Clients attack;
  for (int i = 0; i < 200; ++i) {
    attack.push_back(Connect(kAttack));
    attack.back()->Send(Unfinished(60000));  // has requested the path, and was fast
    EXPECT_EQ(Deliver(kHonest), "200") << i;
  }
  EXPECT_EQ(receiver_->peers().refused, 0u);
  EXPECT_LE(receiver_->peers().unproven + receiver_->peers().proven, 16u);
}

TEST_F(ReceiverSharesTest, OnlyAValidDeliveryMakesASourceProven) {
  Start();
  const auto attack = Connect(kAttack);
  attack->Send(Post("forged"));
  EXPECT_EQ(Statuses(attack->ReadAnswer()), "401");
  EXPECT_EQ(receiver_->peers().proven, 0u);
  const auto honest = Connect(kHonest);
  honest->Send(Post("{}"));
  EXPECT_EQ(Statuses(honest->ReadAnswer()), "200");
  EXPECT_EQ(receiver_->peers().proven, 1u);
  EXPECT_EQ(receiver_->peers().unproven, 1u);
}

TEST_F(ReceiverSharesTest, ADeliveryCountsUntilItsAnswer) {
  Start();
  const auto client = Connect(kHonest);
  client->Send(Post("wait"));
  Answer answer = AwaitDelivery();
  const size_t connection = ConnectionBytes(ReceiverOptions());
  EXPECT_GT(receiver_->held_bytes(), connection);
  answer(200);
  EXPECT_EQ(Statuses(client->ReadAnswer()), "200");
  EXPECT_EQ(receiver_->held_bytes(), connection);
}

// The memory of a delivery that waits is held although its connection has been closed.
TEST_F(ReceiverSharesTest, ADeliveryCountsAlthoughItsConnectionIsClosed) {
  Start();
  auto client = Connect(kHonest);
  client->Send(Post("wait"));
  Answer answer = AwaitDelivery();
  // Displaces it by connections of other sources, because a connection without a pending read does not notice its end.
  Clients others;
  for (int i = 0; i < 400; ++i) {
    others.push_back(Connect("192.0.2.9"));
    others.back()->Send(absl::StrCat(Head(1000), "a"));
  }
  others.clear();
  client.reset();
  AwaitHeld(1, 2 * ConnectionBytes(ReceiverOptions()));
  answer(200);
  answer = nullptr;
  receiver_->Drain(absl::Seconds(60));
  AwaitHeld(0, 2 * ConnectionBytes(ReceiverOptions()));
}

TEST_F(ReceiverSharesTest, ABodyThatStopsGets503AfterTheGraceTime) {
  Start();
  const auto begun = std::chrono::steady_clock::now();
  const auto fast = Connect(kHonest);
  fast->Send(Unfinished());  // was fast before it stopped
  const auto silent = Connect(kHonest);
  silent->Send(Head(10));
  const auto expecting = Connect(kHonest);
  expecting->Send("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(Statuses(fast->ReadToEnd()), "503.");
  EXPECT_EQ(Statuses(silent->ReadToEnd()), "503.");
  EXPECT_THAT(expecting->ReadToEnd(), HasSubstr("HTTP/1.1 503 "));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(Refusals()["too_slow"], 3);
  EXPECT_EQ(Refusals().size(), 1u);
}

TEST_F(ReceiverSharesTest, ABodyWithTheLeastSpeedHasTheWholeRequestTimeout) {
  ReceiverOptions options;
  options.min_bytes_per_second = 1000;
  options.request_timeout = absl::Seconds(30);
  Start(std::move(options));
  const auto begun = std::chrono::steady_clock::now();
  const auto slow = Connect(kHonest);
  slow->Send(Head(20000));
  const auto slower = Connect(kHonest);
  slower->Send(Head(20000));
  // Five times the least speed beside a third of it, for longer than the grace time.
  for (int sent = 0; sent < 40; ++sent) {
    slow->Send(std::string(500, 'a'));
    slower->Send(std::string(30, 'a'));
    absl::SleepFor(absl::Milliseconds(200));
  }
  EXPECT_EQ(Statuses(slow->ReadAnswer()), "200");
  EXPECT_EQ(Statuses(slower->ReadToEnd()), "503.");
  EXPECT_EQ(Refusals()["too_slow"], 1);
  EXPECT_GT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
}

TEST_F(ReceiverSharesTest, WithTlsDeliveriesThatEndGet503Too) {
  const TestIdentity identity = MakeSelfSigned({.subject = "localhost"});
  ReceiverOptions options;
  options.tls_certificate_file = folder_.Write("tls.pem", identity.certificate);
  options.tls_private_key_file = folder_.Write("tls.key", identity.key);
  options.max_bytes = 8 << 20;
  Start(std::move(options));
  std::vector<std::unique_ptr<TlsTestClient>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(std::make_unique<TlsTestClient>(receiver_->url(), ProxyHeader(kAttack)));
    ASSERT_TRUE(clients.back()->Connect());
    clients.back()->Send(Unfinished());
  }
  EXPECT_THAT(clients[0]->ReadAnswer(), StartsWith("HTTP/1.1 503 "));
  EXPECT_TRUE(clients[0]->EndsCleanly());
  // The others are too slow.
  EXPECT_THAT(clients[11]->ReadAnswer(), StartsWith("HTTP/1.1 503 "));
  EXPECT_TRUE(clients[11]->EndsCleanly());
  EXPECT_GT(Refusals()["max_bytes_reached"], 0);
  EXPECT_GT(Refusals()["too_slow"], 0);
}

TEST_F(ReceiverSharesTest, ConnectionsHaveAtMostHalfOfTheAccount) {
  ReceiverOptions options;
  options.max_connections = 10000;
  options.max_bytes = 4 << 20;
  EXPECT_EQ(PlacesOf(options), 85u);
  options.tls_certificate_file = "tls.pem";
  EXPECT_EQ(PlacesOf(options), 16u);
  options.max_connections = 8;
  EXPECT_EQ(PlacesOf(options), 8u);
}

TEST(ReceiverOptionsTest, RefusesLimitsThatCannotWork) {
  const auto loops = std::make_shared<EventLoops>(1);
  const auto start = [&loops](ReceiverOptions options) {
    options.listen_address = "127.0.0.1:0";
    return std::string(Receiver::Start(std::move(options), loops, [](const Delivery&, Answer) {}).status().message());
  };
  ReceiverOptions options;
  options.max_bytes = (4 << 20) - 1;
  options.max_body_bytes = 1000;
  EXPECT_EQ(start(options), "max_bytes must be at least 4 MiB");
  options.max_bytes = 4 << 20;
  EXPECT_EQ(start(options), "");
  options.max_body_bytes = (512 << 10) + 1;
  EXPECT_EQ(start(options), "max_bytes must be at least eight times max_body_bytes");
  options.max_body_bytes = 512 << 10;
  EXPECT_EQ(start(options), "");
  options.min_bytes_per_second = 0;
  EXPECT_EQ(start(options), "min_bytes_per_second must be at least 1");
}

}  // namespace
}  // namespace stampgate
