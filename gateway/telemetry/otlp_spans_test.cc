#include "gateway/telemetry/otlp_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::map<std::string, std::string> AttributesOf(const otlp::Span& span) {
  std::map<std::string, std::string> attributes;
  for (const otlp::KeyValue& attribute : span.attributes()) {
    const otlp::AnyValue& value = attribute.value();
    attributes[attribute.key()] =
        value.value_case() == otlp::AnyValue::kIntValue ? absl::StrCat(value.int_value()) : value.string_value();
  }
  return attributes;
}

class OtlpSpansTest : public testing::Test {
 protected:
  OtlpSpansTest() {
    call_.trace_id = "0af7651916cd43dd8448eb211c80319c";
    call_.parent_id = 0xb7ad6b7169203331;
    call_.span_id = 1;
    call_.method = "/stampgate.v1.PolicyService/GetPolicy";
    call_.http_method = "POST";
    call_.url_template = "/public/v1/query/get_policy";
    call_.begun = absl::FromUnixSeconds(1000);
    call_.replied = absl::Milliseconds(5);
    call_.ended = absl::Milliseconds(9);
  }

  google::protobuf::RepeatedPtrField<otlp::Span> Spans() {
    std::vector<std::unique_ptr<const TracedCall>> calls;
    calls.push_back(std::make_unique<const TracedCall>(call_));
    request_ = ToOtlp(calls, {"service", "instance", "1.2"}, {"upstream.example", 443});
    return request_.resource_spans(0).scope_spans(0).spans();
  }

  TracedCall call_;
  otlp::ExportTraceServiceRequest request_;
};

TEST_F(OtlpSpansTest, ACallIsAServerSpan) {
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1);
  const otlp::Span& span = spans[0];
  EXPECT_EQ(span.trace_id(), "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c");
  EXPECT_EQ(span.span_id(), std::string("\0\0\0\0\0\0\0\x01", 8));
  EXPECT_EQ(span.parent_span_id(), "\xb7\xad\x6b\x71\x69\x20\x33\x31");
  EXPECT_EQ(span.name(), "stampgate.v1.PolicyService/GetPolicy");
  EXPECT_EQ(span.kind(), otlp::Span::SPAN_KIND_SERVER);
  EXPECT_EQ(span.flags(), 0x301u);
  EXPECT_EQ(span.start_time_unix_nano(), 1'000'000'000'000u);
  EXPECT_EQ(span.end_time_unix_nano(), 1'000'005'000'000u);
  EXPECT_THAT(AttributesOf(span),
              UnorderedElementsAre(Pair("rpc.system", "grpc"), Pair("rpc.service", "stampgate.v1.PolicyService"),
                                   Pair("rpc.method", "GetPolicy"), Pair("rpc.grpc.status_code", "0")));
  EXPECT_FALSE(span.has_status());
}

TEST_F(OtlpSpansTest, ACallWithoutATraceOfItsCallerHasNoParent) {
  call_.parent_id = 0;
  EXPECT_THAT(Spans()[0].parent_span_id(), IsEmpty());
  EXPECT_EQ(request_.resource_spans(0).scope_spans(0).spans(0).flags(), 0x101u);
}

TEST_F(OtlpSpansTest, TheProcessIsNamed) {
  Spans();
  const otlp::ResourceSpans& spans = request_.resource_spans(0);
  ASSERT_EQ(spans.resource().attributes_size(), 3);
  EXPECT_EQ(spans.resource().attributes(0).key(), "service.name");
  EXPECT_EQ(spans.resource().attributes(0).value().string_value(), "service");
  EXPECT_EQ(spans.scope_spans(0).scope().name(), "stampgate");
  EXPECT_EQ(spans.scope_spans(0).scope().version(), "1.2");
}

TEST_F(OtlpSpansTest, OnlyAFailureOfTheServerHasTheStatusError) {
  using Code = absl::StatusCode;
  for (const auto& [code, is_failure] : {std::pair(Code::kUnknown, true),
                                         {Code::kDeadlineExceeded, true},
                                         {Code::kUnimplemented, true},
                                         {Code::kInternal, true},
                                         {Code::kUnavailable, true},
                                         {Code::kDataLoss, true},
                                         {Code::kCancelled, false},
                                         {Code::kInvalidArgument, false},
                                         {Code::kPermissionDenied, false},
                                         {Code::kUnauthenticated, false}}) {
    call_.code = code;
    const auto spans = Spans();
    EXPECT_EQ(spans[0].status().code() == otlp::Status::STATUS_CODE_ERROR, is_failure) << code;
    EXPECT_EQ(AttributesOf(spans[0])["error.type"], absl::StatusCodeToString(code));
  }
}

TEST_F(OtlpSpansTest, EachStepIsAChildThatEndsWhenTheNextOneBegins) {
  call_.steps = {{CallStage::kAuthenticate, 2, absl::ZeroDuration()},
                 {CallStage::kTranslate, 3, absl::Milliseconds(1)},
                 {CallStage::kMap, 4, absl::Milliseconds(4)}};
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 4);
  std::vector<std::string> names;
  for (int i = 1; i < spans.size(); ++i) {
    names.push_back(spans[i].name());
    EXPECT_EQ(spans[i].parent_span_id(), spans[0].span_id());
    EXPECT_EQ(spans[i].trace_id(), spans[0].trace_id());
    EXPECT_EQ(spans[i].kind(), otlp::Span::SPAN_KIND_INTERNAL);
    const uint64_t expected = i == 1 ? spans[0].start_time_unix_nano() : spans[i - 1].end_time_unix_nano();
    EXPECT_EQ(spans[i].start_time_unix_nano(), expected);
  }
  EXPECT_THAT(names, ElementsAre("authenticate", "translate", "map"));
  EXPECT_EQ(spans[3].end_time_unix_nano(), 1'000'009'000'000u);
}

TEST_F(OtlpSpansTest, TheExchangeWithUpstreamIsAClientSpan) {
  call_.steps = {{CallStage::kUpstream, 2, absl::Milliseconds(1), 200}};
  const otlp::Span span = Spans()[1];
  EXPECT_EQ(span.name(), "POST /public/v1/query/get_policy");
  EXPECT_EQ(span.kind(), otlp::Span::SPAN_KIND_CLIENT);
  EXPECT_THAT(
      AttributesOf(span),
      UnorderedElementsAre(Pair("http.request.method", "POST"), Pair("url.template", "/public/v1/query/get_policy"),
                           Pair("url.path", "/public/v1/query/get_policy"), Pair("server.address", "upstream.example"),
                           Pair("server.port", "443"), Pair("http.response.status_code", "200")));
  EXPECT_FALSE(span.has_status());
}

TEST_F(OtlpSpansTest, AnErrorOfUpstreamHasTheStatusError) {
  call_.steps = {{CallStage::kUpstream, 2, absl::Milliseconds(1), 404}};
  otlp::Span span = Spans()[1];
  EXPECT_EQ(span.status().code(), otlp::Status::STATUS_CODE_ERROR);
  EXPECT_EQ(AttributesOf(span)["error.type"], "404");
  call_.steps[0].http_status = 0;
  call_.steps[0].failure = "timeout";
  span = Spans()[1];
  EXPECT_EQ(span.status().code(), otlp::Status::STATUS_CODE_ERROR);
  EXPECT_EQ(AttributesOf(span)["error.type"], "timeout");
  EXPECT_EQ(AttributesOf(span).count("http.response.status_code"), 0u);
}

TEST_F(OtlpSpansTest, ADeliveryIsAServerSpanOfHttpWithItsSteps) {
  call_.parent_id = 0;
  call_.ended = call_.replied;
  call_.delivery = {.has_tls = true, .http_status = 200, .outcome = "stored"};
  call_.steps = {{CallStage::kVerify, 2, absl::ZeroDuration()}, {CallStage::kStore, 3, absl::Milliseconds(1)}};
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 3);
  EXPECT_EQ(spans[0].name(), "POST");
  EXPECT_EQ(spans[0].kind(), otlp::Span::SPAN_KIND_SERVER);
  EXPECT_EQ(spans[0].end_time_unix_nano(), 1'000'005'000'000u);
  EXPECT_THAT(
      AttributesOf(spans[0]),
      UnorderedElementsAre(Pair("http.request.method", "POST"), Pair("url.scheme", "https"),
                           Pair("http.response.status_code", "200"), Pair("stampgate.delivery.outcome", "stored")));
  EXPECT_FALSE(spans[0].has_status());
  EXPECT_EQ(spans[1].name(), "verify");
  EXPECT_EQ(spans[1].end_time_unix_nano(), 1'000'001'000'000u);
  EXPECT_EQ(spans[2].name(), "store");
  EXPECT_EQ(spans[2].parent_span_id(), spans[0].span_id());
  EXPECT_EQ(spans[2].kind(), otlp::Span::SPAN_KIND_INTERNAL);
  EXPECT_THAT(spans[2].attributes(), IsEmpty());
}

TEST_F(OtlpSpansTest, OnlyADeliveryThatTheServerFailedHasTheStatusError) {
  call_.delivery = {.has_tls = false, .http_status = 401, .outcome = "invalid_signature"};
  otlp::Span span = Spans()[0];
  EXPECT_EQ(AttributesOf(span)["url.scheme"], "http");
  EXPECT_EQ(AttributesOf(span).count("error.type"), 0u);
  EXPECT_FALSE(span.has_status());
  call_.delivery = {.has_tls = false, .http_status = 503, .outcome = "not_stored"};
  span = Spans()[0];
  EXPECT_EQ(AttributesOf(span)["error.type"], "503");
  EXPECT_EQ(span.status().code(), otlp::Status::STATUS_CODE_ERROR);
}

TEST_F(OtlpSpansTest, ATemplateIsNoPath) {
  call_.url_template = "/public/v1/query/{operation}";
  call_.steps = {{CallStage::kUpstream, 2, absl::Milliseconds(1), 200}};
  EXPECT_EQ(AttributesOf(Spans()[1]).count("url.path"), 0u);
}

}  // namespace
}  // namespace stampgate
