#include "gateway/door/holdings.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stampgate {
namespace {

class HoldingsTest : public ::testing::Test {
 protected:
  struct Client {
    std::shared_ptr<Holdings::Account> account;
    std::vector<Excess> excesses;
  };

  std::unique_ptr<Client> Open(const std::string& identity) {
    auto client = std::make_unique<Client>();
    client->account =
        holdings_->Open(identity, [client = client.get()](Excess excess) { client->excesses.push_back(excess); });
    return client->account == nullptr ? nullptr : std::move(client);
  }

  static std::optional<Excess> Hold(Client& client, size_t bytes) {
    client.account->Set(0, bytes);
    return client.account->Check();
  }

  void Close(Client& client) { holdings_->Close(*client.account); }

  const std::shared_ptr<Holdings> holdings_ =
      std::make_shared<Holdings>(Holdings::Limits{.max_connections_per_identity = 3,
                                                  .max_bytes_per_connection = 100,
                                                  .max_bytes_per_identity = 150,
                                                  .max_bytes = 300});
};

TEST_F(HoldingsTest, StreamsAndTheirBytesCount) {
  auto client = Open("a");
  client->account->Set(3, 50);
  EXPECT_EQ(holdings_->bytes(), 3 * Holdings::kStreamBytes + 50);
  client->account->Set(1, 7);
  EXPECT_EQ(holdings_->bytes(), Holdings::kStreamBytes + 7);
  Close(*client);
  EXPECT_EQ(holdings_->bytes(), 0);
}

TEST_F(HoldingsTest, AConnectionHasABound) {
  auto client = Open("a");
  EXPECT_EQ(Hold(*client, 100), std::nullopt);
  EXPECT_EQ(Hold(*client, 101), Excess::kBytesOfConnection);
  EXPECT_EQ(Hold(*client, 100), std::nullopt);
  Close(*client);
}

TEST_F(HoldingsTest, TheLargestConnectionOfAnIdentityEndsIfTheIdentityHoldsTooMuch) {
  auto large = Open("a");
  auto small = Open("a");
  auto other = Open("b");
  EXPECT_EQ(Hold(*other, 95), std::nullopt);
  EXPECT_EQ(Hold(*large, 90), std::nullopt);
  EXPECT_EQ(Hold(*small, 60), std::nullopt);
  EXPECT_EQ(Hold(*small, 61), std::nullopt);
  EXPECT_EQ(large->excesses, std::vector{Excess::kBytesOfIdentity});
  EXPECT_EQ(Hold(*small, 62), std::nullopt);  // the largest is about to end
  EXPECT_EQ(large->excesses.size(), 1u);
  EXPECT_EQ(small->excesses.size() + other->excesses.size(), 0u);
  Close(*large);
  auto third = Open("a");
  EXPECT_EQ(Hold(*third, 89), Excess::kBytesOfIdentity);
  for (Client* client : {small.get(), other.get(), third.get()}) Close(*client);
}

TEST_F(HoldingsTest, AnIdentityHasABoundOnConnections) {
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

TEST_F(HoldingsTest, TheLargestConnectionEndsIfAllHoldTooMuch) {
  auto large = Open("a");
  auto medium = Open("b");
  auto small = Open("c");
  auto late = Open("d");
  EXPECT_EQ(Hold(*large, 99), std::nullopt);
  EXPECT_EQ(Hold(*medium, 98), std::nullopt);
  EXPECT_EQ(Hold(*small, 50), std::nullopt);
  EXPECT_EQ(Hold(*late, 54), std::nullopt);
  EXPECT_EQ(large->excesses, std::vector{Excess::kBytesOfAll});
  EXPECT_EQ(Hold(*late, 97), std::nullopt);  // the largest is about to end
  auto last = Open("e");
  EXPECT_EQ(Hold(*last, 100), Excess::kBytesOfAll);
  EXPECT_EQ(medium->excesses.size() + small->excesses.size() + late->excesses.size() + last->excesses.size(), 0u);
  for (Client* client : {large.get(), medium.get(), small.get(), late.get(), last.get()}) Close(*client);
}

TEST_F(HoldingsTest, ConnectionsPauseWhileEndingOnesHoldMuch) {
  auto first = Open("a");
  auto second = Open("a");
  auto third = Open("a");
  auto other = Open("b");
  EXPECT_EQ(Hold(*first, 100), std::nullopt);
  EXPECT_EQ(Hold(*second, 60), std::nullopt);
  EXPECT_EQ(first->excesses.size(), 1u);
  EXPECT_EQ(Hold(*third, 65), std::nullopt);  // 225 together
  EXPECT_FALSE(second->account->MustPause());
  EXPECT_EQ(Hold(*third, 66), std::nullopt);
  EXPECT_TRUE(second->account->MustPause());
  EXPECT_TRUE(third->account->MustPause());
  EXPECT_FALSE(other->account->MustPause());
  EXPECT_EQ(second->excesses.size() + third->excesses.size(), 0u);
  Close(*first);
  EXPECT_FALSE(second->account->MustPause());
  for (Client* client : {second.get(), third.get(), other.get()}) Close(*client);
}

TEST_F(HoldingsTest, ConnectionsPauseWhileEndingOnesOfOtherIdentitiesHoldMuch) {
  std::vector<std::unique_ptr<Client>> ending;
  for (const char* identity : {"a", "b", "c", "d"}) {
    ending.push_back(Open(identity));
    EXPECT_EQ(Hold(*ending.back(), 100), std::nullopt);
    ending.back()->account->TakeOut();
  }
  auto honest = Open("e");
  EXPECT_EQ(Hold(*honest, 50), std::nullopt);
  EXPECT_FALSE(honest->account->MustPause());  // 450 together
  EXPECT_EQ(Hold(*honest, 51), std::nullopt);
  EXPECT_TRUE(honest->account->MustPause());
  for (const auto& client : ending) Close(*client);
  EXPECT_FALSE(honest->account->MustPause());
  Close(*honest);
}

TEST_F(HoldingsTest, WhatAnEndingConnectionHoldsEndsNoOther) {
  auto own = Open("a");
  auto other = Open("a");
  EXPECT_EQ(Hold(*own, 101), Excess::kBytesOfConnection);
  own->account->TakeOut();
  EXPECT_EQ(Hold(*other, 99), std::nullopt);
  EXPECT_EQ(own->excesses.size() + other->excesses.size(), 0u);
  for (Client* client : {own.get(), other.get()}) Close(*client);
}

TEST_F(HoldingsTest, SumsAreExactWithManyThreads) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const char* identity : {"a", "a", "b", "c"}) clients.push_back(Open(identity));
  std::vector<std::thread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([&client] {
      for (size_t round = 0; round < 20'000; ++round) {
        client->account->Set(0, round % 120);
        client->account->Check();
      }
      client->account->Set(0, 30);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(holdings_->bytes(), 120);
  for (const auto& client : clients) Close(*client);
  EXPECT_EQ(holdings_->bytes(), 0);
}

}  // namespace
}  // namespace stampgate
