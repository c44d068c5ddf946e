#include "webhooks/log/fake_subscription_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
constexpr absl::StatusCode kFull = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kMissing = absl::StatusCode::kNotFound;

SubscriptionChange Begin(const std::string& subscription) {
  return {.subscription = subscription, .head = SubscriptionHead{}};
}

class FakeSubscriptionStoreTest : public ::testing::Test {
 protected:
  void Write(const SubscriptionChange& change) {
    store_.Write(change, [this](const absl::Status& status) { answers_.push_back(status.code()); });
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, state] : store_.states()) names.push_back(name);
    return names;
  }

  FakeSubscriptionStore store_;
  std::vector<absl::StatusCode> answers_;
};

TEST_F(FakeSubscriptionStoreTest, ChangesWaitAndAreAppliedInTheirOrder) {
  Write(Begin("a"));
  Write({.subscription = "a", .remove = true});
  Write({.subscription = "a", .put = {{.position = 1}}});
  EXPECT_EQ(store_.waiting().size(), 3);
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_TRUE(store_.Answer());
  EXPECT_THAT(Names(), ElementsAre("a"));
  store_.AnswerAll();
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(answers_, ElementsAre(kOk, kOk, kMissing));
  EXPECT_FALSE(store_.Answer());
}

TEST_F(FakeSubscriptionStoreTest, ARefusedChangeIsNotApplied) {
  Write(Begin("a"));
  store_.AnswerAll(absl::ResourceExhaustedError("full"));
  EXPECT_THAT(answers_, ElementsAre(kFull));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FakeSubscriptionStoreTest, CanAnswerInsideOfWrite) {
  Write(Begin("a"));
  store_.AnswerAtOnce();
  Write(Begin("b"));
  EXPECT_THAT(answers_, ElementsAre(kOk, kOk));
  store_.AnswerAtOnce(absl::ResourceExhaustedError("full"));
  Write(Begin("c"));
  EXPECT_THAT(answers_, ElementsAre(kOk, kOk, kFull));
  store_.Hold();
  Write(Begin("d"));
  EXPECT_EQ(answers_.size(), 3);
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
}

TEST_F(FakeSubscriptionStoreTest, AnswerAllLeavesWhatTheAnswersHaveWritten) {
  store_.Write(Begin("a"), [this](const absl::Status&) { Write(Begin("b")); });
  store_.AnswerAll();
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(store_.waiting().front(), Begin("b"));
}

TEST_F(FakeSubscriptionStoreTest, ACrashAnswersNothingAndAppliesTheOldestChanges) {
  for (const char* name : {"a", "b", "c"}) Write(Begin(name));
  store_.Crash(/*applied=*/2);
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(store_.waiting(), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
}

TEST_F(FakeSubscriptionStoreTest, LoadReturnsTheStatesOrTheFailure) {
  store_.AnswerAtOnce();
  Write(Begin("a"));
  EXPECT_EQ(*store_.Load(), store_.states());
  store_.FailLoad(absl::DataLossError("damaged"));
  EXPECT_EQ(store_.Load().status(), absl::DataLossError("damaged"));
}

}  // namespace
}  // namespace stampgate
