#include "gateway/feed/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"
#include "translate/testing/dynamic_message.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorProto;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

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

// The event in a response.
class DecodedEvent {
 public:
  explicit DecodedEvent(std::unique_ptr<google::protobuf::Message> response) : response_(std::move(response)) {
    EXPECT_EQ(testing::ValueAt(*response_, "events"), "1");
  }

  std::string operator[](absl::string_view path) const {
    return testing::ValueAt(*response_, absl::StrCat("events.0.", path));
  }
  bool Has(absl::string_view path) const { return testing::HasValueAt(*response_, absl::StrCat("events.0.", path)); }
  std::map<std::string, std::string> unrecognized() const {
    const auto* events = response_->GetDescriptor()->FindFieldByName("events");
    return testing::MapIn(response_->GetReflection()->GetRepeatedMessage(*response_, events, 0), "unrecognized");
  }

 private:
  std::unique_ptr<google::protobuf::Message> response_;
};

class EventEncoderTest : public ::testing::Test {
 protected:
  DecodedEvent Encode(LoggedEvent logged) {
    const EncodedEvent encoded = encoder_->Encode(std::move(logged));
    EXPECT_LE(encoded.field.size(), kMaxEventMessageBytes - kMessageOverheadBytes + 16);
    DecodedEvent event(testing::MessageIn(
        "stampgate.v1.SubscribeResponse",
        absl::string_view(reinterpret_cast<const char*>(encoded.field.begin()), encoded.field.size())));
    EXPECT_TRUE(encoded.body() == event["body"]);
    return event;
  }

  std::string Unrecognized(const char* kind) {
    return ValueOf(registry_, absl::StrCat("stampgate_unrecognized_total{kind=\"", kind, "\",operation=\"events\"}"));
  }

  const LogIdentity log_ = {.id = {1, 2, 3}, .cursor_key = {4, 5, 6}};
  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
  const std::unique_ptr<EventEncoder> encoder_ = *EventEncoder::Create(testing::Pool(), "Service", log_, metrics_);
};

TEST_F(EventEncoderTest, EveryFieldIsSet) {
  const DecodedEvent event = Encode(Logged("something:new", R"({"type":"something:new"})"));
  EXPECT_EQ(event["cursor"], EncodeCursor(log_, {7, kDigest}));
  EXPECT_EQ(event["event_id"], "evt_1");
  EXPECT_EQ(event["commit_time.seconds"], "1700000000");
  EXPECT_EQ(event["commit_time.nanos"], "123000000");
  EXPECT_EQ(event["type"], "something:new");
  EXPECT_EQ(event["organization_id"], "org-1");
  EXPECT_EQ(event["parent_organization_id"], "org-0");
  EXPECT_EQ(event["signature.key_id"], "key-1");
  EXPECT_EQ(event["signature.timestamp_ms"], "1700000000000");
  EXPECT_EQ(event["signature.signature"], std::string(64, 9));
  ASSERT_EQ(event["headers"], "1");
  EXPECT_EQ(event["headers.0.name"], "X-Service-Event-Id");
  EXPECT_EQ(event["headers.0.value"], "evt_1");
  EXPECT_EQ(event["body"], R"({"type":"something:new"})");
  EXPECT_EQ(event["body_size_bytes"], "24");
  EXPECT_EQ(event["body_sha256"], std::string(32, 8));
  EXPECT_EQ(event["body_omitted"], "false");
  EXPECT_EQ(event["decoded_omitted"], "false");
  for (const char* decoded : {"activity", "balance_update", "transaction_status_update"})
    EXPECT_FALSE(event.Has(decoded));
}

// Returns the program's operations, after `change` has changed a message of events.proto.
OperationSet::Shared WithChanged(const std::string& name, const std::function<void(DescriptorProto& message)>& change) {
  google::protobuf::FileDescriptorSet files;
  for (const auto& [path, bytes] : OperationSet::BuiltIn()->files()) {
    auto& file = *files.add_file();
    EXPECT_TRUE(file.ParseFromString(std::string(bytes)));
    for (auto& message : *file.mutable_message_type()) {
      if (path == "stampgate/v1/events.proto" && message.name() == name) change(message);
    }
  }
  return OperationSet::Create(files.SerializeAsString()).value();
}

// Returns the program's operations, in which events of `type` have the field `field` too.
OperationSet::Shared WithEventType(const std::string& field, const std::string& type) {
  return WithChanged("Event", [&](DescriptorProto& message) {
    for (auto& member : *message.mutable_field()) {
      if (member.name() == field) member.mutable_options()->MutableExtension(v1::field)->add_event_types(type);
    }
  });
}

TEST_F(EventEncoderTest, EventsThatTheProtosDoNotDescribeAreCounted) {
  Encode(Logged("ACTIVITY_UPDATES", R"({"id":"a"})"));
  Encode(Logged("", "no JSON"));
  EXPECT_EQ(Unrecognized("value"), "0");
  EXPECT_EQ(Unrecognized("event_type"), "0");
  Encode(Logged("ACTIVITY_UPDATES", R"({"id":"a","newMember":1,"another":2})"));
  EXPECT_EQ(Unrecognized("value"), "1");
  Encode(Logged("something:new", "{}"));
  Encode(Logged("something:new", "{}"));
  EXPECT_EQ(Unrecognized("event_type"), "2");
}

TEST_F(EventEncoderTest, OtherOperationsDecodeLaterEvents) {
  const LoggedEvent logged = Logged("something:new", R"({"type":"something:new"})");
  EXPECT_FALSE(Encode(logged).Has("activity"));
  ASSERT_EQ(encoder_->Use(WithEventType("activity", "something:new")), absl::OkStatus());
  EXPECT_EQ(Encode(logged)["activity.type"], "something:new");
}

TEST_F(EventEncoderTest, OperationsThatAssignATypeTwiceChangeNothing) {
  const LoggedEvent logged = Logged("something:new", R"({"type":"something:new"})");
  ASSERT_EQ(encoder_->Use(WithEventType("activity", "something:new")), absl::OkStatus());
  EXPECT_EQ(encoder_->Use(WithEventType("activity", "BALANCE_CONFIRMED_UPDATES")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Encode(logged)["activity.type"], "something:new");
}

TEST_F(EventEncoderTest, TheTimestampIsTheSignedText) {
  LoggedEvent logged = Logged("something:new", "{}");
  EXPECT_EQ(Encode(logged)["signature.timestamp"], "1700000000000");
  logged.event.headers = {{"X-Service-Late-Timestamp", "01700000000000"}, {"x-service-timestamp", "0001700000000000"}};
  EXPECT_EQ(Encode(logged)["signature.timestamp"], "0001700000000000");
  EXPECT_EQ(Encode(logged)["signature.timestamp_ms"], "1700000000000");
  // The first header contains another timestamp, and the second header's name does not contain upstream's name.
  logged.event.headers = {{"X-Service-Timestamp", "01700000000001"}, {"X-Other-Timestamp", "01700000000000"}};
  EXPECT_EQ(Encode(logged)["signature.timestamp"], "1700000000000");
}

TEST_F(EventEncoderTest, ABodyThatIsNoJsonObjectIsKeptAndMarked) {
  for (const std::string& body :
       {std::string(), std::string("text"), std::string("[{}]"), std::string("{\"a\":\"\xff\"}"),
        std::string(R"({"type":"x","type":"y"})"), std::string(4 << 20, 'x')}) {
    LoggedEvent logged = Logged("", body);
    logged.event.organization_id = logged.event.parent_organization_id = "";
    const DecodedEvent event = Encode(std::move(logged));
    EXPECT_EQ(event["decoded_omitted"], "true");
    EXPECT_EQ(event["decoded_omitted_reason"], "DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT");
    EXPECT_EQ(event["body_omitted"], body.size() > 1000 ? "true" : "false");
    EXPECT_EQ(event["body"], body.size() > 1000 ? "" : body);
  }
  LoggedEvent object = Logged("", "{}");
  object.event.organization_id = object.event.parent_organization_id = "";
  const DecodedEvent event = Encode(std::move(object));
  EXPECT_EQ(event["decoded_omitted"], "false");
  EXPECT_EQ(event["decoded_omitted_reason"], "DECODED_OMITTED_REASON_UNSPECIFIED");
}

TEST_F(EventEncoderTest, ABareActivityIsDecodedWithoutLoss) {
  const DecodedEvent event = Encode(Logged(
      "ACTIVITY_UPDATES",
      R"({"id":"act-1","organizationId":"org-1","status":"ACTIVITY_STATUS_COMPLETED","type":"ACTIVITY_TYPE_OAUTH",)"
      R"("newMember":[1],"intent":{"x/y":1}})"));
  EXPECT_EQ(event["activity.id"], "act-1");
  EXPECT_EQ(event["activity.status"], "ACTIVITY_STATUS_COMPLETED");
  EXPECT_THAT(event.unrecognized(), UnorderedElementsAre(Pair("/newMember", "[1]"), Pair("/intent/x~1y", "1")));
}

TEST_F(EventEncoderTest, ABalanceEventIsDecodedInBothSpellingsOfItsNumbers) {
  const std::string rest =
      R"("operation":"deposit","caip2":"eip155:1","txHash":"0xab","address":"0xcd","idempotencyKey":"i-1","asset":)"
      R"({"symbol":"USDC","name":"USD Coin","caip19":"eip155:1/erc20:0x","amount":"12","decimals":)";
  for (const char* type : {"BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"}) {
    DecodedEvent event = Encode(Logged(
        type, absl::StrCat(R"({"type":"balances:confirmed","organizationId":"o","parentOrganizationId":"p","msg":{)",
                           rest, R"(6},"block":{"number":"123","hash":"0xef","timestamp":"2026"}}})")));
    EXPECT_EQ(event["balance_update.type"], "balances:confirmed");
    EXPECT_EQ(event["balance_update.organization_id"], "o");
    EXPECT_EQ(event["balance_update.parent_organization_id"], "p");
    EXPECT_EQ(event["balance_update.msg.operation"], "BALANCE_OPERATION_DEPOSIT");
    EXPECT_EQ(event["balance_update.msg.caip2"], "eip155:1");
    EXPECT_EQ(event["balance_update.msg.tx_hash"], "0xab");
    EXPECT_EQ(event["balance_update.msg.address"], "0xcd");
    EXPECT_EQ(event["balance_update.msg.idempotency_key"], "i-1");
    EXPECT_EQ(event["balance_update.msg.asset.symbol"], "USDC");
    EXPECT_EQ(event["balance_update.msg.asset.name"], "USD Coin");
    EXPECT_EQ(event["balance_update.msg.asset.decimals"], "6");
    EXPECT_EQ(event["balance_update.msg.asset.caip19"], "eip155:1/erc20:0x");
    EXPECT_EQ(event["balance_update.msg.asset.amount"], "12");
    EXPECT_EQ(event["balance_update.msg.block.number"], "123");
    EXPECT_EQ(event["balance_update.msg.block.hash"], "0xef");
    EXPECT_EQ(event["balance_update.msg.block.timestamp"], "\"2026\"");
    EXPECT_THAT(event.unrecognized(), IsEmpty());

    event = Encode(Logged(type, absl::StrCat(R"({"msg":{)", rest, R"("6"},"block":{"number":123}}})")));
    EXPECT_EQ(event["balance_update.msg.asset.decimals"], "6");
    EXPECT_EQ(event["balance_update.msg.block.number"], "123");
    EXPECT_THAT(event.unrecognized(),
                UnorderedElementsAre(Pair("/msg/asset/decimals", "\"6\""), Pair("/msg/block/number", "123")));
  }
}

TEST_F(EventEncoderTest, ATransactionEventIsDecoded) {
  const DecodedEvent event = Encode(Logged(
      "SEND_TRANSACTION_STATUS_UPDATES",
      R"({"type":"transaction:status","organizationId":"o","msg":{"sendTransactionStatusId":"s","activityId":"a",)"
      R"("status":"INCLUDED","caip2":"eip155:1","idempotencyKey":"i","timestamp":1755500000,"txHash":"0xab",)"
      R"("error":{"code":3}}})"));
  EXPECT_EQ(event["transaction_status_update.msg.send_transaction_status_id"], "s");
  EXPECT_EQ(event["transaction_status_update.msg.activity_id"], "a");
  EXPECT_EQ(event["transaction_status_update.msg.status"], "TRANSACTION_STATUS_INCLUDED");
  EXPECT_EQ(event["transaction_status_update.msg.timestamp_seconds"], "1755500000");
  EXPECT_EQ(event["transaction_status_update.msg.tx_hash"], "0xab");
  EXPECT_EQ(event["transaction_status_update.msg.error"], R"({"code":3})");
  EXPECT_THAT(event.unrecognized(), IsEmpty());
}

// Returns an activity of about `size` bytes, nearly all of which are in one string.
std::string ActivityOf(size_t size) {
  const std::string start = R"({"id":"act","type":"ACTIVITY_TYPE_X","organizationId":")";
  return absl::StrCat(start, std::string(size - start.size() - 2, 'o'), "\"}");
}

TEST_F(EventEncoderTest, ABodyThatDoesNotFitIsOmittedAndMarked) {
  const DecodedEvent both = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(1 << 20)));
  EXPECT_TRUE(both.Has("activity"));
  EXPECT_EQ(both["body"].size(), size_t{1} << 20);

  const DecodedEvent body = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(2 << 20)));
  EXPECT_FALSE(body.Has("activity"));
  EXPECT_EQ(body["decoded_omitted"], "true");
  EXPECT_EQ(body["decoded_omitted_reason"], "DECODED_OMITTED_REASON_TOO_LARGE");
  EXPECT_EQ(body["body_omitted"], "false");
  EXPECT_EQ(body["body"].size(), size_t{2} << 20);

  const DecodedEvent neither = Encode(Logged("ACTIVITY_UPDATES", ActivityOf(4 << 20)));
  EXPECT_EQ(neither["decoded_omitted"], "true");
  EXPECT_EQ(neither["decoded_omitted_reason"], "DECODED_OMITTED_REASON_TOO_LARGE");
  EXPECT_EQ(neither["body_omitted"], "true");
  EXPECT_EQ(neither["body"], "");
  EXPECT_EQ(neither["body_size_bytes"], absl::StrCat(4 << 20));
  EXPECT_EQ(neither["event_id"], "evt_1");

  EXPECT_EQ(Encode(Logged("unknown", ActivityOf(4 << 20)))["decoded_omitted"], "false");
}

TEST_F(EventEncoderTest, AnEventHasTheIdOfItsActivity) {
  const auto id_of = [this](const char* type, const std::string& body) {
    return encoder_->Encode(Logged(type, body)).activity_id;
  };
  EXPECT_EQ(id_of("ACTIVITY_UPDATES", R"({"id":"act-1","result":{"id":"other"}})"), "act-1");
  EXPECT_EQ(id_of("ACTIVITY_UPDATES", R"({"activityId":"other"})"), "");
  EXPECT_EQ(id_of("ACTIVITY_UPDATES", "{}"), "");
  const std::string transaction = R"({"id":"other","activityId":"other","msg":{"id":"other","activityId":"act-2"}})";
  EXPECT_EQ(id_of("SEND_TRANSACTION_STATUS_UPDATES", transaction), "act-2");
  EXPECT_EQ(id_of("SEND_TRANSACTION_STATUS_UPDATES", R"({"msg":[{"activityId":"other"}]})"), "");
  EXPECT_EQ(id_of("BALANCE_CONFIRMED_UPDATES", R"({"id":"other","msg":{"activityId":"other"}})"), "");
  EXPECT_EQ(id_of("something:new", R"({"id":"other"})"), "");
  EXPECT_EQ(id_of("", "no JSON"), "");
}

TEST_F(EventEncoderTest, TheIdOfTheActivityDoesNotDependOnWhatIsOmitted) {
  for (const size_t size : {size_t{1} << 20, size_t{2} << 20, size_t{4} << 20}) {
    EXPECT_EQ(encoder_->Encode(Logged("ACTIVITY_UPDATES", ActivityOf(size))).activity_id, "act") << size;
    const std::string body = absl::StrCat(R"({"msg":{"error":")", std::string(size, 'e'), R"(","activityId":"act"}})");
    EXPECT_EQ(encoder_->Encode(Logged("SEND_TRANSACTION_STATUS_UPDATES", body)).activity_id, "act") << size;
  }
}

TEST_F(EventEncoderTest, AnIdThatIsNoShortTextIsNoId) {
  for (const size_t size : {size_t{10}, size_t{4} << 20}) {
    const auto id_of = [&](const std::string& value) {
      const std::string body = absl::StrCat(R"({"id":)", value, R"(,"type":")", std::string(size, 't'), "\"}");
      return encoder_->Encode(Logged("ACTIVITY_UPDATES", body)).activity_id;
    };
    EXPECT_EQ(id_of("\"" + std::string(128, 'i') + "\""), std::string(128, 'i'));
    for (const std::string& value : {"\"" + std::string(129, 'i') + "\"", std::string("7"), std::string("null"),
                                     std::string(R"({"id":"a"})"), std::string(R"("\ud800")")}) {
      EXPECT_EQ(id_of(value), "") << value;
    }
  }
}

TEST_F(EventEncoderTest, ABodyMustNotStateTwoActivities) {
  const OperationSet::Shared two = WithChanged("TransactionStatusUpdate", [](DescriptorProto& message) {
    google::protobuf::FieldDescriptorProto field = message.field(3);
    field.set_name("second");
    field.set_json_name("second");
    field.set_number(9);
    *message.add_field() = field;
  });
  EXPECT_EQ(encoder_->Use(two),
            absl::FailedPreconditionError(
                "the messages inside stampgate.v1.TransactionStatusUpdate have two ids of an activity"));
}

TEST_F(EventEncoderTest, NoSizeNearTheLimitMakesATooLargeMessage) {
  for (size_t size = kMaxEventMessageBytes - 2100; size < kMaxEventMessageBytes - 800; size += 7) {
    const DecodedEvent event = Encode(Logged("unknown", ActivityOf(size)));  // Encode checks the size
    EXPECT_NE(event["body_omitted"] == "true", event["body"].size() == size);
  }
}

// The generated code of Protocol Buffers writes these bytes for the same event.
TEST_F(EventEncoderTest, TheFieldsAreInTheOrderOfTheirNumbers) {
  for (const std::string& body : {std::string("{}"), std::string(R"({"id":"a","x":{"y":1}})"), ActivityOf(2 << 20),
                                  ActivityOf(4 << 20), std::string()}) {
    const EncodedEvent encoded = encoder_->Encode(Logged("ACTIVITY_UPDATES", body));
    const absl::string_view bytes(reinterpret_cast<const char*>(encoded.field.begin()), encoded.field.size());
    const auto response = testing::MessageIn("stampgate.v1.SubscribeResponse", bytes);
    EXPECT_TRUE(response->SerializeAsString() == bytes) << body.size();
  }
}

TEST_F(EventEncoderTest, AnEventBeforeTheYear1970HasANegativeTime) {
  LoggedEvent logged = Logged("something:new", "{}");
  logged.commit_time = absl::FromUnixMillis(-1500);
  const DecodedEvent event = Encode(std::move(logged));
  EXPECT_EQ(event["commit_time.seconds"], "-2");
  EXPECT_EQ(event["commit_time.nanos"], "500000000");
}

}  // namespace
}  // namespace stampgate
