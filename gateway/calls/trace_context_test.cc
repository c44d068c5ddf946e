#include "gateway/calls/trace_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kValid[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

// Returns the trace id of the header, or an empty text if the header is not valid.
std::string TraceIdOf(const std::string& traceparent) {
  const std::optional<TraceContext> trace = TraceContext::Parse(traceparent);
  return trace.has_value() ? std::string(trace->trace_id()) : "";
}

std::string With(size_t at, const std::string& text) {
  std::string changed = kValid;
  return changed.replace(at, text.size(), text);
}

TEST(TraceContextTest, AcceptsValidHeaders) {
  EXPECT_EQ(TraceIdOf(kValid), kTraceId);
  EXPECT_EQ(TraceIdOf(With(53, "00")), kTraceId);
  EXPECT_EQ(TraceIdOf(With(53, "ff")), kTraceId);
  EXPECT_EQ(TraceIdOf(With(0, "01")), kTraceId);
  EXPECT_EQ(TraceIdOf(With(0, "cc") + "-what-the-future-will-be-like"), kTraceId);
  EXPECT_EQ(TraceIdOf(With(0, "fe") + "-"), kTraceId);
}

TEST(TraceContextTest, RejectsOtherText) {
  for (const std::string& header : {std::string(),
                                    std::string("00"),
                                    std::string(kValid, 54),
                                    std::string(kValid) + "-",
                                    std::string(kValid) + "0",
                                    With(0, "ff"),
                                    With(0, "0A"),
                                    With(0, "0g"),
                                    With(0, "01") + "0",
                                    With(2, "_"),
                                    With(35, "0"),
                                    With(52, " "),
                                    With(3, "00000000000000000000000000000000"),
                                    With(36, "0000000000000000"),
                                    With(3, "0AF7651916CD43DD"),
                                    With(10, "g"),
                                    With(40, "g"),
                                    With(40, "A"),
                                    With(53, "0g"),
                                    With(53, "A1"),
                                    With(20, std::string(1, '\0')),
                                    " " + std::string(kValid)}) {
    EXPECT_EQ(TraceIdOf(header), "") << header;
  }
}

TEST(TraceContextTest, BeginsWithRandomIds) {
  uint64_t next = 0xfedcba9876543210;
  const RandomNumber random = [&next] { return next++; };
  const TraceContext trace = TraceContext::Begin(random);
  EXPECT_EQ(trace.trace_id(), "fedcba9876543210fedcba9876543211");
  EXPECT_EQ(trace.Traceparent(random), "00-fedcba9876543210fedcba9876543211-fedcba9876543212-00");
}

TEST(TraceContextTest, NeverHasAnIdOfZeros) {
  const RandomNumber zero = [] { return 0; };
  const TraceContext trace = TraceContext::Begin(zero);
  EXPECT_EQ(TraceIdOf(trace.Traceparent(zero)), "00000000000000000000000000000001");
}

TEST(TraceContextTest, KeepsTheTraceIdAndTheSampledFlag) {
  const RandomNumber random = [] { return 0x1234; };
  EXPECT_EQ(TraceContext::Parse(kValid)->Traceparent(random),
            "00-0af7651916cd43dd8448eb211c80319c-0000000000001234-01");
  EXPECT_EQ(TraceContext::Parse(With(53, "02"))->Traceparent(random),
            "00-0af7651916cd43dd8448eb211c80319c-0000000000001234-00");
  EXPECT_EQ(TraceContext::Parse(With(0, "cc") + "-more")->Traceparent(random),
            "00-0af7651916cd43dd8448eb211c80319c-0000000000001234-01");
}

TEST(TraceContextTest, KeepsTheCallersSpanAndFlag) {
  EXPECT_EQ(TraceContext::Parse(kValid)->parent_id(), 0xb7ad6b7169203331u);
  EXPECT_EQ(TraceContext::Parse(kValid)->callers_flag(), true);
  EXPECT_EQ(TraceContext::Parse(With(53, "00"))->callers_flag(), false);
  EXPECT_EQ(TraceContext::Begin([] { return 7; }).parent_id(), 0u);
  EXPECT_EQ(TraceContext::Begin([] { return 7; }).callers_flag(), std::nullopt);
}

TEST(TraceContextTest, ASampledRequestHasTheIdOfItsSpan) {
  EXPECT_EQ(TraceContext::Parse(With(53, "00"))->SampledTraceparent(0x1234),
            "00-0af7651916cd43dd8448eb211c80319c-0000000000001234-01");
}

}  // namespace
}  // namespace stampgate
