#include "gateway/memory/account.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stampgate {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

class MemoryAccountTest : public ::testing::Test {
 protected:
  struct Client {
    std::shared_ptr<MemoryHolder> holder;
    std::vector<MemoryBound> limits;
  };

  std::unique_ptr<Client> Open(const std::string& identity) {
    auto client = std::make_unique<Client>();
    client->holder =
        memory_->Open(identity, [client = client.get()](MemoryBound limit) { client->limits.push_back(limit); });
    return client->holder == nullptr ? nullptr : std::move(client);
  }

  // Makes the connection hold `mebibytes`.
  static std::optional<MemoryBound> Hold(Client& client, size_t mebibytes) {
    client.holder->SetReceived(0, mebibytes * kMebibyte - MemoryAccount::kConnectionBytes);
    return client.holder->Check();
  }

  static std::optional<MemoryBound> Reserve(Client& client, int64_t mebibytes) {
    return client.holder->Reserve(mebibytes * kMebibyte);
  }

  static void Close(Client& client) { client.holder->Close(); }

  const std::shared_ptr<MemoryAccount> memory_ =
      std::make_shared<MemoryAccount>(MemoryAccount::Limits{.max_connections_per_identity = 3,
                                                            .max_bytes_per_connection = 100 * kMebibyte,
                                                            .max_bytes_per_identity = 150 * kMebibyte,
                                                            .max_bytes = 300 * kMebibyte,
                                                            .least_share = 10 * kMebibyte});
};

TEST_F(MemoryAccountTest, AConnectionItsStreamsAndTheirBytesCount) {
  auto client = Open("a");
  EXPECT_EQ(memory_->bytes(), MemoryAccount::kConnectionBytes);
  client->holder->SetReceived(3, 50);
  EXPECT_EQ(memory_->bytes(), MemoryAccount::kConnectionBytes + 3 * MemoryAccount::kStreamBytes + 50);
  client->holder->SetReceived(1, 7);
  EXPECT_EQ(memory_->bytes(), MemoryAccount::kConnectionBytes + MemoryAccount::kStreamBytes + 7);
  Close(*client);
  EXPECT_EQ(memory_->bytes(), 0);
}

TEST_F(MemoryAccountTest, AConnectionHasABound) {
  auto client = Open("a");
  EXPECT_EQ(Hold(*client, 100), std::nullopt);
  EXPECT_EQ(Hold(*client, 101), MemoryBound::kConnection);
  EXPECT_EQ(Hold(*client, 100), std::nullopt);
  Close(*client);
}

TEST_F(MemoryAccountTest, TheLargestConnectionOfAnIdentityEndsIfTheIdentityHoldsTooMuch) {
  auto large = Open("a");
  auto small = Open("a");
  auto other = Open("b");
  EXPECT_EQ(Hold(*other, 95), std::nullopt);
  EXPECT_EQ(Hold(*large, 90), std::nullopt);
  EXPECT_EQ(Hold(*small, 60), std::nullopt);
  EXPECT_EQ(Hold(*small, 61), std::nullopt);
  EXPECT_EQ(large->limits, std::vector{MemoryBound::kIdentity});
  EXPECT_EQ(Hold(*small, 62), std::nullopt);  // the largest is about to end
  EXPECT_EQ(large->limits.size(), 1u);
  EXPECT_EQ(small->limits.size() + other->limits.size(), 0u);
  Close(*large);
  auto third = Open("a");
  EXPECT_EQ(Hold(*third, 89), MemoryBound::kIdentity);
  for (Client* client : {small.get(), other.get(), third.get()}) Close(*client);
}

TEST(MemoryAccountBoundsTest, ABoundThatIsNotLessThanTheNextWiderOneIsNoneOfItsOwn) {
  const auto reserve = [](int64_t of_connection, int64_t of_identity) {
    const auto memory = std::make_shared<MemoryAccount>(MemoryAccount::Limits{
        .max_bytes_per_connection = of_connection, .max_bytes_per_identity = of_identity, .max_bytes = 80 * kMebibyte});
    const std::shared_ptr<MemoryHolder> holder = memory->Open("a", [](MemoryBound) {});
    EXPECT_EQ(holder->Reserve(50 * kMebibyte), std::nullopt);
    const std::optional<MemoryBound> bound = holder->Reserve(20 * kMebibyte);
    holder->Release(50 * kMebibyte);
    holder->Close();
    return bound;
  };
  EXPECT_EQ(reserve(79 * kMebibyte, 80 * kMebibyte), MemoryBound::kConnection);
  EXPECT_EQ(reserve(80 * kMebibyte, 80 * kMebibyte), MemoryBound::kAll);
  EXPECT_EQ(reserve(79 * kMebibyte, 79 * kMebibyte), MemoryBound::kIdentity);
  EXPECT_EQ(reserve(90 * kMebibyte, 79 * kMebibyte), MemoryBound::kIdentity);
}

TEST_F(MemoryAccountTest, AnIdentityHasABoundOnConnections) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Open("a"));
  EXPECT_EQ(Open("a"), nullptr);
  auto other = Open("b");
  EXPECT_NE(other, nullptr);
  Close(*clients.back());
  clients.pop_back();
  clients.push_back(Open("a"));
  EXPECT_NE(clients.back(), nullptr);
  for (const auto& client : clients) Close(*client);
  Close(*other);
}

TEST_F(MemoryAccountTest, TheLargestConnectionEndsIfAllHoldTooMuch) {
  auto large = Open("a");
  auto medium = Open("b");
  auto small = Open("c");
  auto late = Open("d");
  EXPECT_EQ(Hold(*large, 99), std::nullopt);
  EXPECT_EQ(Hold(*medium, 98), std::nullopt);
  EXPECT_EQ(Hold(*small, 50), std::nullopt);
  EXPECT_EQ(Hold(*late, 54), std::nullopt);
  EXPECT_EQ(large->limits, std::vector{MemoryBound::kAll});
  EXPECT_EQ(Hold(*late, 97), std::nullopt);  // the largest is about to end
  auto last = Open("e");
  EXPECT_EQ(Hold(*last, 100), MemoryBound::kAll);
  EXPECT_EQ(medium->limits.size() + small->limits.size() + late->limits.size() + last->limits.size(), 0u);
  for (Client* client : {large.get(), medium.get(), small.get(), late.get(), last.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, ConnectionsPauseWhileEndingOnesHoldMuch) {
  auto first = Open("a");
  auto second = Open("a");
  auto third = Open("a");
  auto other = Open("b");
  EXPECT_EQ(Hold(*first, 100), std::nullopt);
  EXPECT_EQ(Hold(*second, 60), std::nullopt);
  EXPECT_EQ(first->limits.size(), 1u);
  EXPECT_EQ(Hold(*second, 40), std::nullopt);
  EXPECT_EQ(Hold(*third, 10), std::nullopt);  // 150 together
  EXPECT_FALSE(second->holder->MustPause());
  EXPECT_EQ(Hold(*third, 11), std::nullopt);
  EXPECT_TRUE(second->holder->MustPause());
  EXPECT_TRUE(third->holder->MustPause());
  EXPECT_FALSE(other->holder->MustPause());
  EXPECT_EQ(second->limits.size() + third->limits.size(), 0u);
  Close(*first);
  EXPECT_FALSE(second->holder->MustPause());
  for (Client* client : {second.get(), third.get(), other.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, ConnectionsPauseWhileEndingOnesOfOtherIdentitiesHoldMuch) {
  std::vector<std::unique_ptr<Client>> ending;
  for (const char* identity : {"a", "b", "c", "d"}) {
    ending.push_back(Open(identity));
    EXPECT_EQ(Hold(*ending.back(), 100), std::nullopt);
    ending.back()->holder->BeginToEnd();
  }
  auto small = Open("e");
  auto large = Open("f");
  EXPECT_EQ(Hold(*ending[0], 1), std::nullopt);
  EXPECT_EQ(Hold(*ending[1], 60), std::nullopt);
  EXPECT_EQ(Hold(*large, 51), std::nullopt);  // 312 together, and a share is 50
  EXPECT_TRUE(large->holder->MustPause());
  EXPECT_EQ(Hold(*small, 25), std::nullopt);
  EXPECT_FALSE(small->holder->MustPause());  // 337 together
  EXPECT_EQ(Hold(*small, 26), std::nullopt);
  EXPECT_TRUE(small->holder->MustPause());
  for (const auto& client : ending) Close(*client);
  EXPECT_FALSE(small->holder->MustPause());
  EXPECT_FALSE(large->holder->MustPause());
  for (Client* client : {small.get(), large.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, WhatAnEndingConnectionHoldsEndsNoOther) {
  auto own = Open("a");
  auto other = Open("a");
  EXPECT_EQ(Hold(*own, 101), MemoryBound::kConnection);
  own->holder->BeginToEnd();
  EXPECT_EQ(Hold(*other, 99), std::nullopt);
  EXPECT_EQ(own->limits.size() + other->limits.size(), 0u);
  for (Client* client : {own.get(), other.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, CallsReserveSevenEighthsOfEachBound) {
  auto first = Open("a");
  auto second = Open("a");
  const auto at_rest = MemoryAccount::kConnectionBytes;
  const int64_t of_connection = 100 * kMebibyte / 8 * 7 - at_rest;
  EXPECT_EQ(first->holder->Reserve(of_connection + 1), MemoryBound::kConnection);
  EXPECT_EQ(first->holder->Reserve(of_connection), std::nullopt);
  EXPECT_EQ(first->holder->Reserve(1), MemoryBound::kConnection);
  const int64_t of_identity = 150 * kMebibyte / 8 * 7 - 2 * at_rest - of_connection;
  EXPECT_EQ(second->holder->Reserve(of_identity + 1), MemoryBound::kIdentity);
  EXPECT_EQ(second->holder->Reserve(of_identity), std::nullopt);
  EXPECT_EQ(memory_->bytes(), 150 * kMebibyte / 8 * 7);
  first->holder->Release(of_connection);
  second->holder->Release(of_identity);
  EXPECT_EQ(first->holder->Reserve(of_connection), std::nullopt);
  first->holder->Release(of_connection);
  for (Client* client : {first.get(), second.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, TheLargestIdentityGivesWhenAnotherWantsItsShare) {
  auto large = Open("a");
  auto larger = Open("a");
  auto medium = Open("b");
  auto small = Open("c");
  EXPECT_EQ(Reserve(*large, 60), std::nullopt);
  EXPECT_EQ(Reserve(*larger, 70), std::nullopt);
  EXPECT_EQ(Reserve(*medium, 85), std::nullopt);
  EXPECT_EQ(Reserve(*small, 40), std::nullopt);
  EXPECT_EQ(larger->limits.size(), 0u);  // 255 of 262 together
  EXPECT_EQ(Reserve(*small, 43), std::nullopt);
  EXPECT_EQ(larger->limits, std::vector{MemoryBound::kAll});
  EXPECT_EQ(large->limits.size() + medium->limits.size() + small->limits.size(), 0u);
  // No further connection ends while the largest one is about to.
  EXPECT_EQ(Reserve(*small, 1), std::nullopt);
  EXPECT_EQ(larger->limits.size() + large->limits.size(), 1u);
  for (Client* client : {large.get(), larger.get(), medium.get(), small.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, OthersThatHoldTheirSharesLeaveAnIdentityItsShare) {
  constexpr int64_t kShare = 262 / 7;  // of what calls can reserve
  std::vector<std::unique_ptr<Client>> others;
  for (const char* identity : {"a", "b", "c", "d", "e", "f"}) {
    others.push_back(Open(identity));
    EXPECT_EQ(Reserve(*others.back(), 42), std::nullopt);  // an equal part of the whole account
  }
  auto last = Open("g");
  for (int64_t held = 1; held < kShare; ++held) EXPECT_EQ(Reserve(*last, 1), std::nullopt) << held;
  size_t ended = 0;
  for (const auto& client : others) ended += client->limits.size();
  EXPECT_EQ(ended, 1u);
  for (const auto& client : others) Close(*client);
  Close(*last);
}

TEST_F(MemoryAccountTest, AsManyConnectionsEndAsAnIdentityWithinItsShareNeeds) {
  std::vector<std::unique_ptr<Client>> others;
  for (const char* identity : {"a", "b", "c"}) {
    for (int i = 0; i < 3; ++i) {
      others.push_back(Open(identity));
      EXPECT_EQ(Reserve(*others.back(), 29), std::nullopt);
    }
  }
  auto last = Open("d");
  EXPECT_EQ(Reserve(*last, 36), std::nullopt);
  size_t ended = 0;
  for (const auto& client : others) ended += client->limits.size();
  EXPECT_EQ(ended, 2u);
  for (const auto& client : others) Close(*client);
  Close(*last);
}

TEST_F(MemoryAccountTest, AnIdentityAboveItsShareIsRefusedWhenAllIsUsed) {
  auto first = Open("a");
  auto second = Open("a");
  auto other = Open("b");
  auto last = Open("c");
  EXPECT_EQ(Reserve(*first, 80), std::nullopt);
  EXPECT_EQ(Reserve(*second, 50), std::nullopt);
  EXPECT_EQ(Reserve(*other, 87), std::nullopt);
  EXPECT_EQ(Reserve(*last, 45), std::nullopt);
  EXPECT_EQ(Reserve(*first, 1), MemoryBound::kAll);
  EXPECT_EQ(first->limits.size() + second->limits.size() + other->limits.size() + last->limits.size(), 0u);
  for (Client* client : {first.get(), second.get(), other.get(), last.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, WithManyIdentitiesEachMayUseTheLeastShare) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(Open(std::to_string(i)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Reserve(*clients[i], 85), std::nullopt);
  EXPECT_EQ(Reserve(*clients[3], 11), MemoryBound::kAll);
  EXPECT_EQ(Reserve(*clients[3], 9), std::nullopt);
  EXPECT_EQ(clients[0]->limits.size() + clients[1]->limits.size() + clients[2]->limits.size(), 1u);
  for (const auto& client : clients) Close(*client);
}

TEST_F(MemoryAccountTest, WithinItsShareAnIdentityGetsAnEighthMoreThanTheBoundOfAll) {
  auto ending = Open("a");
  auto other = Open("b");
  auto small = Open("c");
  EXPECT_EQ(Hold(*ending, 100), std::nullopt);
  EXPECT_EQ(Hold(*other, 100), std::nullopt);
  ending->holder->BeginToEnd();
  EXPECT_EQ(Reserve(*small, 85), std::nullopt);
  auto last = Open("d");
  EXPECT_EQ(Reserve(*last, 14), std::nullopt);       // 299 together, and a share is 65
  EXPECT_EQ(Reserve(*small, 2), MemoryBound::kAll);  // above its share
  EXPECT_EQ(Reserve(*last, 38), std::nullopt);       // 337 together
  EXPECT_EQ(Reserve(*last, 1), MemoryBound::kAll);
  Close(*ending);
  EXPECT_EQ(Reserve(*last, 1), std::nullopt);
  for (Client* client : {other.get(), small.get(), last.get()}) Close(*client);
}

TEST_F(MemoryAccountTest, WhatACallHoldsAfterItsConnectionCountsForTheIdentity) {
  auto ended = Open("a");
  EXPECT_EQ(Reserve(*ended, 80), std::nullopt);
  Close(*ended);
  EXPECT_EQ(memory_->bytes(), 80 * kMebibyte);
  auto next = Open("a");
  EXPECT_EQ(Reserve(*next, 60), MemoryBound::kIdentity);
  ended->holder->Release(80 * kMebibyte);
  EXPECT_EQ(Reserve(*next, 60), std::nullopt);
  Close(*next);
}

TEST_F(MemoryAccountTest, SumsAreExactWithManyThreads) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const char* identity : {"a", "a", "b", "c"}) clients.push_back(Open(identity));
  std::vector<std::thread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([&client] {
      for (size_t round = 0; round < 20'000; ++round) {
        client->holder->SetReceived(0, (round % 120) * kMebibyte);
        client->holder->Check();
        if (Reserve(*client, 20) == std::nullopt) client->holder->Release(20 * kMebibyte);
      }
      client->holder->SetReceived(0, 30);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_->bytes(), 4 * (MemoryAccount::kConnectionBytes + 30));
  for (const auto& client : clients) Close(*client);
  EXPECT_EQ(memory_->bytes(), 0);
}

}  // namespace
}  // namespace stampgate
