#include "gateway/feed/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stampgate/v1/event_service.pb.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr ChainDigest kDigest = {5, 6, 7};

LoggedEvent Logged(std::string type, std::string body) {
  LoggedEvent logged;
  logged.position = 7;
  logged.commit_time = absl::FromUnixMillis(1700000000123);
  logged.event.event_id = "evt_1";
  logged.event.key_id = "key-1";
  logged.event.timestamp_ms = 1700000000000;
  logged.event.signature.fill(9);
  logged.event.organization_id = "org-1";
  logged.event.parent_organization_id = "org-0";
  logged.digest = kDigest;
  logged.event.type = std::move(type);
  logged.event.body = std::move(body);
  logged.event.body_sha256.fill(8);
  logged.event.headers = {{"X-Service-Event-Id", "evt_1"}};
  return logged;
}

class EventEncoderTest : public testing::Test {
 protected:
  v1::Event Encode(LoggedEvent logged) {
    const EncodedEvent encoded = encoder_->Encode(std::move(logged));
    EXPECT_LE(encoded.field.size(), kMaxEventMessageBytes - kMessageOverheadBytes + 16);
    v1::SubscribeResponse response;
    EXPECT_TRUE(response.ParseFromArray(encoded.field.begin(), static_cast<int>(encoded.field.size())));
    EXPECT_EQ(response.events_size(), 1);
    return response.events(0);
  }

  const LogIdentity log_ = {.id = {1, 2, 3}, .cursor_key = {4, 5, 6}};
  std::unique_ptr<const EventEncoder> encoder_ = *EventEncoder::Create("Service", log_);
};

TEST_F(EventEncoderTest, EveryFieldIsSet) {
  const v1::Event event = Encode(Logged("something:new", R"({"type":"something:new"})"));
  EXPECT_EQ(event.cursor(), EncodeCursor(log_, {7, kDigest}));
  EXPECT_EQ(event.event_id(), "evt_1");
  EXPECT_EQ(event.commit_time().seconds(), 1700000000);
  EXPECT_EQ(event.commit_time().nanos(), 123000000);
  EXPECT_EQ(event.type(), "something:new");
  EXPECT_EQ(event.organization_id(), "org-1");
  EXPECT_EQ(event.parent_organization_id(), "org-0");
  EXPECT_EQ(event.signature().key_id(), "key-1");
  EXPECT_EQ(event.signature().timestamp_ms(), 1700000000000u);
  EXPECT_EQ(event.signature().signature(), std::string(64, 9));
  ASSERT_EQ(event.headers_size(), 1);
  EXPECT_EQ(event.headers(0).name(), "X-Service-Event-Id");
  EXPECT_EQ(event.headers(0).value(), "evt_1");
  EXPECT_EQ(event.body(), R"({"type":"something:new"})");
  EXPECT_EQ(event.body_size_bytes(), 24u);
  EXPECT_EQ(event.body_sha256(), std::string(32, 8));
  EXPECT_FALSE(event.body_omitted());
  EXPECT_FALSE(event.decoded_omitted());
  EXPECT_EQ(event.decoded_case(), v1::Event::DECODED_NOT_SET);
}

TEST_F(EventEncoderTest, TheTimestampIsTheSignedText) {
  LoggedEvent logged = Logged("something:new", "{}");
  EXPECT_EQ(Encode(logged).signature().timestamp(), "1700000000000");
  logged.event.headers = {{"X-Service-Late-Timestamp", "01700000000000"}, {"x-service-timestamp", "0001700000000000"}};
  EXPECT_EQ(Encode(logged).signature().timestamp(), "0001700000000000");
  EXPECT_EQ(Encode(logged).signature().timestamp_ms(), 1700000000000u);
  // The first header contains another timestamp, and the second header's name does not contain upstream's name.
  logged.event.headers = {{"X-Service-Timestamp", "01700000000001"}, {"X-Other-Timestamp", "01700000000000"}};
  EXPECT_EQ(Encode(logged).signature().timestamp(), "1700000000000");
}

TEST_F(EventEncoderTest, ABodyThatIsNoJsonObjectIsKeptAndMarked) {
  for (const std::string& body :
       {std::string(), std::string("text"), std::string("[{}]"), std::string("{\"a\":\"\xff\"}"),
        std::string(R"({"type":"x","type":"y"})"), std::string(4 << 20, 'x')}) {
    LoggedEvent logged = Logged("", body);
    logged.event.organization_id = logged.event.parent_organization_id = "";
    const v1::Event event = Encode(std::move(logged));
    EXPECT_TRUE(event.decoded_omitted());
    EXPECT_EQ(event.decoded_omitted_reason(), v1::DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT);
    EXPECT_EQ(event.body_omitted(), body.size() > 1000);
    EXPECT_EQ(event.body(), event.body_omitted() ? "" : body);
  }
  LoggedEvent object = Logged("", "{}");
  object.event.organization_id = object.event.parent_organization_id = "";
  const v1::Event event = Encode(std::move(object));
  EXPECT_FALSE(event.decoded_omitted());
  EXPECT_EQ(event.decoded_omitted_reason(), v1::DECODED_OMITTED_REASON_UNSPECIFIED);
}

TEST_F(EventEncoderTest, ABareActivityIsDecodedWithoutLoss) {
  const v1::Event event = Encode(Logged(
      "ACTIVITY_UPDATES",
      R"({"id":"act-1","organizationId":"org-1","status":"ACTIVITY_STATUS_COMPLETED","type":"ACTIVITY_TYPE_OAUTH",)"
      R"("newMember":[1],"intent":{"x/y":1}})"));
  EXPECT_EQ(event.activity().id(), "act-1");
  EXPECT_EQ(event.activity().status(), v1::ACTIVITY_STATUS_COMPLETED);
  EXPECT_THAT(event.unrecognized(), UnorderedElementsAre(Pair("/newMember", "[1]"), Pair("/intent/x~1y", "1")));
}

TEST_F(EventEncoderTest, ABalanceEventIsDecodedInBothSpellingsOfItsNumbers) {
  const std::string rest =
      R"("operation":"deposit","caip2":"eip155:1","txHash":"0xab","address":"0xcd","idempotencyKey":"i-1","asset":)"
      R"({"symbol":"USDC","name":"USD Coin","caip19":"eip155:1/erc20:0x","amount":"12","decimals":)";
  for (const char* type : {"BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"}) {
    v1::Event event = Encode(Logged(
        type, absl::StrCat(R"({"type":"balances:confirmed","organizationId":"o","parentOrganizationId":"p","msg":{)",
                           rest, R"(6},"block":{"number":"123","hash":"0xef","timestamp":"2026"}}})")));
    const v1::BalanceChange& change = event.balance_update().msg();
    EXPECT_EQ(event.balance_update().type(), "balances:confirmed");
    EXPECT_EQ(event.balance_update().organization_id(), "o");
    EXPECT_EQ(event.balance_update().parent_organization_id(), "p");
    EXPECT_EQ(change.operation(), v1::BALANCE_OPERATION_DEPOSIT);
    EXPECT_EQ(change.caip2(), "eip155:1");
    EXPECT_EQ(change.tx_hash(), "0xab");
    EXPECT_EQ(change.address(), "0xcd");
    EXPECT_EQ(change.idempotency_key(), "i-1");
    EXPECT_EQ(change.asset().symbol(), "USDC");
    EXPECT_EQ(change.asset().name(), "USD Coin");
    EXPECT_EQ(change.asset().decimals(), 6u);
    EXPECT_EQ(change.asset().caip19(), "eip155:1/erc20:0x");
    EXPECT_EQ(change.asset().amount(), "12");
    EXPECT_EQ(change.block().number(), 123u);
    EXPECT_EQ(change.block().hash(), "0xef");
    EXPECT_EQ(change.block().timestamp(), "\"2026\"");
    EXPECT_THAT(event.unrecognized(), IsEmpty());

    event = Encode(Logged(type, absl::StrCat(R"({"msg":{)", rest, R"("6"},"block":{"number":123}}})")));
    EXPECT_EQ(event.balance_update().msg().asset().decimals(), 6u);
    EXPECT_EQ(event.balance_update().msg().block().number(), 123u);
    EXPECT_THAT(event.unrecognized(),
                UnorderedElementsAre(Pair("/msg/asset/decimals", "\"6\""), Pair("/msg/block/number", "123")));
  }
}

TEST_F(EventEncoderTest, ATransactionEventIsDecoded) {
  const v1::Event event = Encode(Logged(
      "SEND_TRANSACTION_STATUS_UPDATES",
      R"({"type":"transaction:status","organizationId":"o","msg":{"sendTransactionStatusId":"s","activityId":"a",)"
      R"("status":"INCLUDED","caip2":"eip155:1","idempotencyKey":"i","timestamp":1755500000,"txHash":"0xab",)"
      R"("error":{"code":3}}})"));
  const v1::TransactionStatusChange& change = event.transaction_status_update().msg();
  EXPECT_EQ(change.send_transaction_status_id(), "s");
  EXPECT_EQ(change.activity_id(), "a");
  EXPECT_EQ(change.status(), v1::TRANSACTION_STATUS_INCLUDED);
  EXPECT_EQ(change.timestamp_seconds(), 1755500000u);
  EXPECT_EQ(change.tx_hash(), "0xab");
  EXPECT_EQ(change.error(), R"({"code":3})");
  EXPECT_THAT(event.unrecognized(), IsEmpty());
}

// Returns an activity of about `size` bytes, nearly all of which are in one string.
std::string ActivityOf(size_t size) {
  const std::string start = R"({"id":"act","type":"ACTIVITY_TYPE_X","organizationId":")";
  return absl::StrCat(start, std::string(size - start.size() - 2, 'o'), "\"}");
}

TEST_F(EventEncoderTest, ABodyThatDoesNotFitIsOmittedAndMarked) {
  const v1::Event both = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(1 << 20)));
  EXPECT_TRUE(both.has_activity());
  EXPECT_EQ(both.body().size(), size_t{1} << 20);

  const v1::Event body = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(2 << 20)));
  EXPECT_FALSE(body.has_activity());
  EXPECT_TRUE(body.decoded_omitted());
  EXPECT_EQ(body.decoded_omitted_reason(), v1::DECODED_OMITTED_REASON_TOO_LARGE);
  EXPECT_FALSE(body.body_omitted());
  EXPECT_EQ(body.body().size(), size_t{2} << 20);

  const v1::Event neither = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(4 << 20)));
  EXPECT_TRUE(neither.decoded_omitted());
  EXPECT_EQ(neither.decoded_omitted_reason(), v1::DECODED_OMITTED_REASON_TOO_LARGE);
  EXPECT_TRUE(neither.body_omitted());
  EXPECT_EQ(neither.body(), "");
  EXPECT_EQ(neither.body_size_bytes(), uint64_t{4} << 20);
  EXPECT_EQ(neither.event_id(), "evt_1");

  EXPECT_FALSE(Encode(Logged("unknown", ActivityOf(4 << 20))).decoded_omitted());
}

TEST_F(EventEncoderTest, NoSizeNearTheLimitMakesATooLargeMessage) {
  for (size_t size = kMaxEventMessageBytes - 2100; size < kMaxEventMessageBytes - 800; size += 7) {
    const v1::Event event = Encode(Logged("unknown", ActivityOf(size)));  // Encode checks the size
    EXPECT_NE(event.body_omitted(), event.body().size() == size);
  }
}

}  // namespace
}  // namespace stampgate
