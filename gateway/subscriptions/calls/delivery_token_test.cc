#include "gateway/subscriptions/calls/delivery_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "absl/strings/escaping.h"
#include "translate/testing/status.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

using ::testing::Optional;

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

LogIdentity LogNumber(uint8_t number) {
  LogIdentity log;
  for (size_t i = 0; i < log.id.size(); ++i) log.id[i] = static_cast<uint8_t>(number + i);
  for (size_t i = 0; i < log.cursor_key.size(); ++i) log.cursor_key[i] = static_cast<uint8_t>(number ^ i);
  return log;
}

MATCHER_P(Is, expected, "") {
  return arg.partition == expected.partition && arg.position == expected.position && arg.number == expected.number &&
         arg.incarnation == expected.incarnation;
}

constexpr DeliveryId kDelivery = {.partition = 5, .position = 258, .number = 3, .incarnation = 2};

constexpr char kToken[] = "ASYs3lEdjmNvkN5ve4lkkArQWxr7uzWuxiRJvIPMvGrGJ4GjEvq-eL983Uqzm79bwBlwNAnH4TFyAg";

// kToken was computed with Python's modules hmac and base64.
TEST(DeliveryTokenTest, ATokenHasTheDocumentedForm) {
  EXPECT_EQ(DeliveryTokens(LogNumber(16), "payouts").Encode(kDelivery), kToken);
  EXPECT_THAT(DeliveryTokens(LogNumber(16), "payouts").Decode(kToken), Optional(Is(kDelivery)));
}

// A consumer must not learn how many events other organizations have.
TEST(DeliveryTokenTest, ATokenDoesNotShowItsPosition) {
  std::set<std::string> shown;
  for (Position position = 0; position < 1000; ++position) {
    std::string bytes;
    ASSERT_TRUE(
        absl::WebSafeBase64Unescape(DeliveryTokens(LogNumber(16), "payouts").Encode({.position = position}), &bytes));
    shown.insert(bytes.substr(18, 4));  // the upper half of the position, which is 0 for all these positions
  }
  EXPECT_GT(shown.size(), 990u);
}

TEST(DeliveryTokenTest, ADecodedTokenHasTheEncodedNumbers) {
  const LogIdentity log = LogNumber(1);
  for (const int64_t number :
       {int64_t{0}, int64_t{1}, int64_t{255}, int64_t{1} << 40, std::numeric_limits<int64_t>::max(), int64_t{-1}}) {
    for (const DeliveryId& id :
         {DeliveryId{.position = number}, DeliveryId{.number = number}, DeliveryId{.incarnation = number}}) {
      const std::string token = DeliveryTokens(log, "payouts").Encode(id);
      EXPECT_EQ(token.size(), 78u);
      EXPECT_THAT(DeliveryTokens(log, "payouts").Decode(token), Optional(Is(id)));
    }
  }
}

TEST(DeliveryTokenTest, ATokenOfAnotherSubscriptionLogOrKeyIsNotDecoded) {
  const std::string token = DeliveryTokens(LogNumber(1), "payouts").Encode(kDelivery);
  LogIdentity with_another_key = LogNumber(1);
  with_another_key.cursor_key[31] ^= 1;
  EXPECT_EQ(DeliveryTokens(LogNumber(1), "payout").Decode(token), std::nullopt);
  EXPECT_EQ(DeliveryTokens(LogNumber(2), "payouts").Decode(token), std::nullopt);
  EXPECT_EQ(DeliveryTokens(with_another_key, "payouts").Decode(token), std::nullopt);
}

// Replaces each letter of a token by every other letter of the base64url alphabet.
TEST(DeliveryTokenTest, AnAlteredTokenIsNotDecoded) {
  const LogIdentity log = LogNumber(1);
  const std::string token = DeliveryTokens(log, "payouts").Encode(kDelivery);
  for (size_t at = 0; at < token.size(); ++at) {
    for (const char letter : std::string(kAlphabet)) {
      std::string changed = token;
      changed[at] = letter;
      if (changed != token) EXPECT_EQ(DeliveryTokens(log, "payouts").Decode(changed), std::nullopt) << changed;
    }
  }
}

TEST(DeliveryTokenTest, ATextThatIsNotATokenIsNotDecoded) {
  const LogIdentity log = LogNumber(1);
  const std::string token = DeliveryTokens(log, "payouts").Encode(kDelivery);
  for (const std::string& text :
       {std::string(), std::string("A"), token + "A", token + "=", token.substr(1), " " + token, token + "\n",
        std::string(78, 'A'), std::string(78, '\0'), std::string(1 << 20, 'A'), EncodeCursor(log, {.position = 258})}) {
    EXPECT_EQ(DeliveryTokens(log, "payouts").Decode(text), std::nullopt) << text.size();
  }
  EXPECT_THAT(DecodeCursor(log, token), testing::StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace stampgate
