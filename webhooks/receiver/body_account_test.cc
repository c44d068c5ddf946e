#include "webhooks/receiver/body_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = BodyAccount::Time;

constexpr Time kStart{seconds(1000)};
constexpr size_t kHead = 1000;
constexpr size_t kHeadCost = BodyAccount::CostOfHead(kHead);
constexpr size_t kMaxBody = 1 << 20;

#ifdef STAMPGATE_SANITIZED
constexpr unsigned kSchedules = 5;
constexpr int kAttacks = 3'000;
#else
constexpr unsigned kSchedules = 30;
constexpr int kAttacks = 20'000;
#endif

// A delivery whose body arrives in pieces.
struct Sender {
  std::shared_ptr<HeldBody> held;
  std::shared_ptr<bool> has_ended = std::make_shared<bool>(false);

  bool Send(size_t bytes, Time now, size_t most = kMaxBody) const {
    return held->Grow(bytes, most, now) && held->Read([&](std::string& body) { body.append(bytes, 'a'); });
  }
};

class BodyAccountTest : public testing::Test {
 protected:
  Sender Begin(const std::string& source, size_t head_bytes = kHead) {
    Sender sender;
    sender.held = account_->Begin(source, head_bytes, now_, [ended = sender.has_ended] {
      EXPECT_FALSE(*ended);
      *ended = true;
    });
    return sender;
  }

  // Begins a delivery that sends `bytes` at once, of a body with this size.
  Sender Hold(const std::string& source, size_t bytes) {
    Sender sender = Begin(source);
    EXPECT_NE(sender.held, nullptr);
    EXPECT_TRUE(sender.Send(bytes, now_, bytes));
    return sender;
  }

  void Open(size_t max_bytes) { account_ = std::make_shared<BodyAccount>(max_bytes, proven_); }

  const std::shared_ptr<ProvenSources> proven_ = std::make_shared<ProvenSources>();
  std::shared_ptr<BodyAccount> account_ = std::make_shared<BodyAccount>(16 << 20, proven_);
  Time now_ = kStart;
};

TEST_F(BodyAccountTest, ReservesAsTheBytesArriveAndReturnsEverything) {
  Sender sender = Begin("a");
  EXPECT_EQ(account_->held_bytes(), kHeadCost);
  ASSERT_TRUE(sender.Send(1, now_));
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (16 << 10)) << "however large the declared length is";
  ASSERT_TRUE(sender.Send((16 << 10) - 1, now_));
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (16 << 10));
  ASSERT_TRUE(sender.Send(1, now_));
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (80 << 10));
  ASSERT_TRUE(sender.Send((64 << 10) - 1, now_));
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (80 << 10));
  ASSERT_TRUE(sender.Send(1, now_));
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (144 << 10));
  const std::optional<std::string> body = sender.held->Finish(now_);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(*body, std::string((80 << 10) + 1, 'a'));
  EXPECT_LE(body->capacity(), (80 << 10) + 16u);
  EXPECT_EQ(account_->held_bytes(), kHeadCost + (80 << 10) + 1) << "until the delivery is answered";
  sender.held.reset();
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_FALSE(*sender.has_ended);
}

TEST_F(BodyAccountTest, NeverReservesMoreThanTheDeclaredLength) {
  const Sender sender = Begin("a");
  for (const size_t size : {1, 10, 100, 5000}) {
    const Sender small = Begin("a");
    ASSERT_TRUE(small.Send(1, now_, size));
    EXPECT_EQ(account_->held_bytes(), 2 * kHeadCost + size);
    // The bytes of the next request can follow those of the body.
    ASSERT_TRUE(small.held->Grow(20000, size, now_));
    EXPECT_EQ(account_->held_bytes(), 2 * kHeadCost + size);
  }
}

TEST_F(BodyAccountTest, WhileThePiecesOfABodyAreJoinedTheyAndTheBodyAreReserved) {
  const auto finish = [this] {
    Sender sender = Begin("a");
    EXPECT_TRUE(sender.Send(kMaxBody / 2, now_));
    EXPECT_TRUE(sender.Send(kMaxBody / 2, now_));
    EXPECT_EQ(account_->held_bytes(), kHeadCost + kMaxBody);
    const std::optional<std::string> body = sender.held->Finish(now_);
    EXPECT_EQ(account_->held_bytes(), kHeadCost + kMaxBody);
    EXPECT_FALSE(*sender.has_ended);
    return body.has_value();
  };
  Open(kHeadCost + 2 * kMaxBody);
  EXPECT_TRUE(finish());
  EXPECT_EQ(account_->held_bytes(), 0u);
  Open(kHeadCost + 2 * kMaxBody - 1);
  EXPECT_FALSE(finish());
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(BodyAccountTest, TheLargestSourceGivesWhatHasHeldTheMostForTheLongest) {
  Open(8 << 20);
  std::vector<Sender> attack;
  for (int i = 0; i < 6; ++i) {
    attack.push_back(Hold("attack", kMaxBody));
    now_ += seconds(1);
  }
  const Sender small = Hold("attack", 20000);
  now_ += seconds(1);
  const Sender young = Hold("attack", kMaxBody / 2);
  const Sender honest = Hold("honest", kMaxBody);
  EXPECT_EQ(std::count_if(attack.begin(), attack.end(), [](const Sender& each) { return *each.has_ended; }), 0);
  now_ += seconds(1);
  const Sender more = Hold("honest", kMaxBody);
  EXPECT_TRUE(*attack[0].has_ended);
  EXPECT_FALSE(*attack[1].has_ended);
  EXPECT_FALSE(*small.has_ended);
  EXPECT_FALSE(*young.has_ended);
  EXPECT_FALSE(*honest.has_ended);
  // The ended one has no memory any more, and can do nothing.
  EXPECT_FALSE(attack[0].Send(1, now_));
  EXPECT_FALSE(attack[0].held->Finish(now_).has_value());
  EXPECT_LE(account_->held_bytes(), size_t{8} << 20);
}

TEST_F(BodyAccountTest, ASourceAloneMayUseAllAndThenEndsItsOwnDeliveries) {
  Open(8 << 20);
  std::vector<Sender> senders;
  for (int i = 0; i < 100; ++i) {
    senders.push_back(Hold("a", kMaxBody));
    now_ += milliseconds(1);
  }
  EXPECT_EQ(std::count_if(senders.begin(), senders.end(), [](const Sender& each) { return !*each.has_ended; }), 7);
  for (int i = 93; i < 100; ++i) EXPECT_FALSE(*senders[i].has_ended) << i;
}

TEST_F(BodyAccountTest, UnprovenSourcesGiveToProvenOnesButKeepAPart) {
  proven_->Prove("proven", now_);
  Open(8 << 20);
  std::vector<Sender> bots;
  for (int i = 0; i < 7; ++i) bots.push_back(Hold("bot" + std::to_string(i), kMaxBody));
  now_ += seconds(1);
  std::vector<Sender> proven;
  for (int i = 0; i < 5; ++i) proven.push_back(Hold("proven", kMaxBody));
  EXPECT_EQ(std::count_if(bots.begin(), bots.end(), [](const Sender& each) { return *each.has_ended; }), 5);
  // Two bots have a little more than the quarter that they keep.
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(1);
    proven.push_back(Hold("proven", kMaxBody));
  }
  EXPECT_EQ(std::count_if(bots.begin(), bots.end(), [](const Sender& each) { return *each.has_ended; }), 6);
  EXPECT_EQ(std::count_if(proven.begin(), proven.end(), [](const Sender& each) { return *each.has_ended; }), 4);
}

TEST_F(BodyAccountTest, FinishedDeliveriesCannotEndSoOneSourceHasAtMostHalfForThem) {
  Open((8 << 20) + 16 * kHeadCost);
  std::vector<Sender> finished;
  const auto finish = [this, &finished](const std::string& source) {
    finished.push_back(Hold(source, kMaxBody));
    return finished.back().held->Finish(now_).has_value();
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(finish("attack")) << i;
  EXPECT_FALSE(finish("attack"));
  finished.pop_back();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(finish("other")) << i;
  EXPECT_FALSE(finish("other")) << "a third of the account, because there are two sources";
  finished.pop_back();
  EXPECT_FALSE(finish("third")) << "the sources that are not proven leave a quarter";
  finished.pop_back();
  proven_->Prove("proven", now_);
  EXPECT_TRUE(finish("proven"));
  EXPECT_FALSE(*finished[0].has_ended);
  // What was finished before its source was proven counts as it did then.
  proven_->Prove("attack", now_);
  finished.clear();
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_TRUE(finish("new"));
}

TEST_F(BodyAccountTest, ASingleDeliveryCanBeFinishedHoweverLargeItIs) {
  Open(2 << 20);
  const Sender sender = Hold("a", kMaxBody);
  EXPECT_TRUE(sender.held->Finish(now_).has_value());
  const Sender other = Begin("a");
  ASSERT_NE(other.held, nullptr);
  EXPECT_FALSE(other.held->Finish(now_).has_value());
}

TEST_F(BodyAccountTest, EndsNothingForADeliveryThatCannotHaveEnough) {
  Open(4 << 20);
  const Sender waits = Hold("a", kMaxBody);
  ASSERT_TRUE(waits.held->Finish(now_).has_value());
  const Sender other = Hold("b", kMaxBody);
  now_ += seconds(1);
  const Sender asks = Begin("c");
  EXPECT_FALSE(asks.held->Grow(3 << 20, 3 << 20, now_));
  EXPECT_FALSE(*other.has_ended);
}

TEST_F(BodyAccountTest, RefusesADeliveryWhoseHeadDoesNotFit) {
  Open(kHeadCost);
  const Sender first = Begin("a");
  ASSERT_TRUE(first.held->Finish(now_).has_value());
  EXPECT_EQ(Begin("b").held, nullptr);
  EXPECT_EQ(account_->held_bytes(), kHeadCost);
}

// What the deliveries of a test hold, by the rules of the header.
struct Model {
  std::string source;
  Sender sender;
  size_t held = 0;
  size_t size = 0;
  size_t room = 0;
};

// Checks that `giver` has more than an equal share of the account when a delivery of `asker` asks for `asked`.
void ExpectMoreThanTheShare(const std::string& giver, const std::map<int, Model>& models, const std::string& asker,
                            size_t asked, size_t max_bytes) {
  std::map<std::string, size_t> totals = {{asker, asked}};
  size_t all = asked;
  for (const auto& [id, model] : models) {
    totals[model.source] += model.held;
    all += model.held;
  }
  EXPECT_GT(all, max_bytes) << "there was enough memory";
  EXPECT_GT(totals[giver] * totals.size(), max_bytes) << giver;
}

// Random deliveries of random sources that are not proven. Whenever the account ends or refuses one, its source has
// more than the equal share.
TEST_F(BodyAccountTest, ASourceWithinItsEqualShareIsNeverTheOneThatGives) {
  constexpr size_t kMaxBytes = 4 << 20;
  unsigned gave = 0;
  for (unsigned seed = 1; seed <= kSchedules && !HasFailure(); ++seed) {
    std::mt19937 random(seed);  // NOLINT(cert-msc51-cpp): the same schedules each time
    const auto below = [&random](size_t bound) { return static_cast<size_t>(random() % bound); };
    const size_t sources = 2 + below(4);
    std::map<int, Model> models;
    std::vector<int> ended;  // in the order in which the account ended them
    Open(kMaxBytes);
    const auto settle = [&](const std::string& asker, size_t asked) {
      for (const int id : ended) {
        ++gave;
        ExpectMoreThanTheShare(models[id].source, models, asker, asked, kMaxBytes);
        models.erase(id);
      }
      ended.clear();
    };
    for (int id = 0; id < 3000 && !HasFailure(); ++id) {
      now_ += milliseconds(below(50));
      size_t all = 0;
      for (const auto& [other, model] : models) all += model.held;
      ASSERT_EQ(account_->held_bytes(), all);
      if (models.empty() || below(3) == 0) {
        const std::string source(1, static_cast<char>('a' + std::min(below(sources), below(sources))));
        Model model{.source = source, .sender = {}, .held = kHeadCost, .size = 0, .room = 0};
        model.sender.held = account_->Begin(source, kHead, now_, [&ended, id] { ended.push_back(id); });
        settle(source, kHeadCost);
        if (model.sender.held != nullptr) models.emplace(id, std::move(model));
        continue;
      }
      const auto one = std::next(models.begin(), static_cast<std::ptrdiff_t>(below(models.size())));
      Model& model = one->second;
      const size_t bytes = 1 + below(300000);
      const size_t left = kMaxBody - model.size;
      if (below(8) == 0 || bytes > left) {
        models.erase(one);
        continue;
      }
      const size_t usual = model.size == 0 ? BodyAccount::kFirstPieceBytes : BodyAccount::kPieceBytes;
      const size_t piece = bytes <= model.room ? 0 : std::max(bytes, std::min(usual, left));
      const bool sent = model.sender.Send(bytes, now_);
      settle(model.source, piece);
      if (sent) {
        model.held += piece;
        model.size += bytes;
        model.room = (piece > 0 ? piece : model.room) - bytes;
        continue;
      }
      ++gave;
      ExpectMoreThanTheShare(model.source, models, model.source, piece, kMaxBytes);
      models.erase(one);
    }
    models.clear();
    EXPECT_EQ(account_->held_bytes(), 0u);
  }
  EXPECT_GT(gave, 30 * kSchedules);
}

// The deliveries of one proven source, which never have more than a quarter of the account, beside others that do all
// they can, and of which many wait for a key or for the log.
TEST_F(BodyAccountTest, AProvenSourceAlwaysHasAQuarter) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same schedule each time
  const auto below = [&random](size_t bound) { return static_cast<size_t>(random() % bound); };
  proven_->Prove("honest", now_);
  const size_t max_bytes = 16 << 20;
  std::vector<Sender> attack;
  int honest_deliveries = 0;
  for (int i = 0; i < kAttacks; ++i) {
    now_ += milliseconds(below(5));
    Sender sender = Begin("bot" + std::to_string(below(6)));
    if (sender.held != nullptr && sender.Send(1 + below(kMaxBody), now_)) {
      if (below(2) == 0) sender.held->Finish(now_);
      attack.push_back(std::move(sender));
    }
    if (attack.size() > 200) attack.erase(attack.begin(), attack.begin() + 50);
    ASSERT_LE(account_->held_bytes(), max_bytes);
    if (i % 10 != 0) continue;
    // At most two at once, which need less than a quarter of the account also while they grow.
    const Sender first = Begin("honest");
    const Sender second = Begin("honest");
    ASSERT_NE(first.held, nullptr);
    ASSERT_NE(second.held, nullptr);
    for (int piece = 0; piece < 8; ++piece) {
      ASSERT_TRUE(first.Send(kMaxBody / 8, now_)) << i;
      ASSERT_TRUE(second.Send(kMaxBody / 8, now_)) << i;
    }
    ASSERT_TRUE(first.held->Finish(now_).has_value());
    ASSERT_TRUE(second.held->Finish(now_).has_value());
    ++honest_deliveries;
  }
  EXPECT_EQ(honest_deliveries, kAttacks / 10);
}

TEST_F(BodyAccountTest, ThreadsMayEndTheDeliveriesOfEachOther) {
  Open(3 << 20);
  std::atomic<int> ended = 0;
  std::atomic<int> finished = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const std::string source = number == 0 ? "small" : "large";
      for (int i = 0; i < 300; ++i) {
        const auto held = account_->Begin(source, kHead, std::chrono::steady_clock::now(), [&ended] { ++ended; });
        if (held == nullptr) continue;
        const size_t pieces = number == 0 ? 3 : 60;
        std::string expected;
        for (size_t piece = 0; piece < pieces; ++piece) {
          const std::string text(16000, static_cast<char>('a' + piece % 26));
          const auto read = [&text](std::string& body) { body.append(text); };
          if (!held->Grow(text.size(), kMaxBody, std::chrono::steady_clock::now()) || !held->Read(read)) break;
          expected.append(text);
        }
        if (expected.size() < pieces * 16000) continue;
        const std::optional<std::string> body = held->Finish(std::chrono::steady_clock::now());
        if (!body.has_value()) continue;
        EXPECT_EQ(*body, expected);
        ++finished;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_GT(finished, 0);
}

}  // namespace
}  // namespace stampgate
