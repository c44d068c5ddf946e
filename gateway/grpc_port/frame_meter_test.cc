#include "gateway/grpc_port/frame_meter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/grpc_port/testing.h"

namespace stampgate {
namespace {

enum Type : char { kData, kHeaders, kPriority, kReset, kSettings, kPush, kPing, kGoAway, kWindowUpdate, kContinuation };

constexpr char kEndStream = 0x1;
constexpr char kEndHeaders = 0x4;

class FrameMeterTest : public ::testing::Test {
 protected:
  FrameMeterTest() { EXPECT_EQ(Receive(kHttp2Preface), std::nullopt); }

  std::optional<Excess> Receive(absl::string_view bytes) { return meter_.Receive(bytes, now_); }
  void Send(absl::string_view bytes) { meter_.Send(bytes, now_); }

  // Receives `frame` until a limit is exceeded, at most a million times. Returns how many were within the limits.
  int CountUntilExcess(const std::string& frame, Excess expected) {
    for (int i = 0; i < 1'000'000; ++i) {
      const std::optional<Excess> excess = Receive(frame);
      if (!excess.has_value()) continue;
      EXPECT_EQ(static_cast<size_t>(*excess), static_cast<size_t>(expected));
      return i;
    }
    return -1;
  }

  FrameMeter::Time now_{};
  FrameMeter meter_{{.max_header_bytes = 1000, .max_resets_per_second = 5, .max_control_frames_per_second = 3}, now_};
};

std::string Call(uint32_t stream) {
  return absl::StrCat(Http2Frame(20, kHeaders, kEndHeaders, stream), Http2Frame(100, kData, kEndStream, stream));
}

std::string Response(uint32_t stream) {
  return absl::StrCat(Http2Frame(20, kHeaders, kEndHeaders, stream), Http2Frame(50, kData, 0, stream),
                      Http2Frame(10, kHeaders, kEndHeaders | kEndStream, stream));
}

std::string ResetWith(char code, uint32_t stream) {
  return absl::StrCat(Http2Frame(4, kReset, 0, stream).substr(0, 9), std::string(3, '\0'), std::string(1, code));
}

TEST_F(FrameMeterTest, AnyNumberOfCallsIsWithinTheLimits) {
  for (uint32_t stream = 1; stream < 200'001; stream += 2) {
    ASSERT_EQ(Receive(Call(stream)), std::nullopt);
    // What clients of gRPC send for a call, apart from the call.
    ASSERT_EQ(Receive(absl::StrCat(Http2Frame(4, kWindowUpdate, 0, 0), Http2Frame(8, kPing, 0, 0))), std::nullopt);
    Send(Response(stream));
  }
  EXPECT_EQ(meter_.open_streams(), 0u);
}

TEST_F(FrameMeterTest, ALongResponseMayBeAcknowledgedFrameByFrame) {
  ASSERT_EQ(Receive(Call(1)), std::nullopt);
  for (int i = 0; i < 100'000; ++i) {
    Send(Http2Frame(16384, kData, 0, 1));
    ASSERT_EQ(Receive(absl::StrCat(Http2Frame(4, kWindowUpdate, 0, 1), Http2Frame(4, kWindowUpdate, 0, 0))),
              std::nullopt);
  }
}

TEST_F(FrameMeterTest, ALongRequestIsWithinTheLimits) {
  ASSERT_EQ(Receive(Http2Frame(20, kHeaders, kEndHeaders, 1)), std::nullopt);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(Receive(Http2Frame(100, kData, 0, 1)), std::nullopt);
  EXPECT_EQ(meter_.open_streams(), 1u);
}

TEST_F(FrameMeterTest, LimitsResets) {
  uint32_t stream = 1;
  const auto reset = [&] {
    const auto excess = Receive(absl::StrCat(Http2Frame(20, kHeaders, kEndHeaders, stream), ResetWith(8, stream)));
    stream += 2;
    return excess;
  };
  for (int i = 0; i < 25; ++i) ASSERT_EQ(reset(), std::nullopt) << i;
  EXPECT_EQ(reset(), Excess::kResets);
  now_ += std::chrono::seconds(1);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(reset(), std::nullopt) << i;
  EXPECT_EQ(reset(), Excess::kResets);
  now_ += std::chrono::hours(1);
  for (int i = 0; i < 25; ++i) ASSERT_EQ(reset(), std::nullopt) << i;
  EXPECT_EQ(reset(), Excess::kResets);
}

// The client makes gRPC reset the streams, for example by a wrong window update.
TEST_F(FrameMeterTest, LimitsResetsThatTheClientProvokes) {
  uint32_t stream = 1;
  const auto provoke = [&](char code) {
    const auto excess = Receive(Call(stream));
    Send(ResetWith(code, stream));
    stream += 2;
    return excess;
  };
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(provoke(0), std::nullopt) << i;
  for (int i = 0; i < 26; ++i) ASSERT_EQ(provoke(1), std::nullopt) << i;
  EXPECT_EQ(provoke(1), Excess::kResets);
}

TEST_F(FrameMeterTest, LimitsFramesThatCarryNoCall) {
  const std::vector<std::string> frames = {
      Http2Frame(8, kPing, 0, 0),         Http2Frame(8, kPing, 1, 0),   Http2Frame(6, kSettings, 0, 0),
      Http2Frame(0, kSettings, 1, 0),     Http2Frame(0, kData, 0, 1),   Http2Frame(5, kPriority, 0, 1),
      Http2Frame(4, kWindowUpdate, 0, 1), Http2Frame(8, kGoAway, 0, 0), Http2Frame(7, 42, 0, 0),
  };
  for (const std::string& frame : frames) {
    now_ += std::chrono::hours(1);
    EXPECT_EQ(CountUntilExcess(frame, Excess::kControlFrames), 15) << static_cast<int>(frame[3]);
  }
}

TEST_F(FrameMeterTest, LimitsHeadersThatDoNotEnd) {
  ASSERT_EQ(Receive(Http2LongHeaders(900, kEndHeaders, 1)), std::nullopt);
  ASSERT_EQ(Receive(Http2LongHeaders(900, 0, 3)), std::nullopt);
  ASSERT_EQ(Receive(Http2Frame(100, kContinuation, 0, 3)), std::nullopt);
  EXPECT_EQ(Receive(Http2Frame(1, kContinuation, 0, 3)), Excess::kHeaderBytes);
}

TEST_F(FrameMeterTest, LimitsTheFieldsOfHeaders) {
  ASSERT_EQ(Receive(Http2Frame(31, kHeaders, kEndHeaders, 1)), std::nullopt);
  ASSERT_EQ(Receive(Http2Frame(20, kHeaders, 0, 3)), std::nullopt);
  ASSERT_EQ(Receive(Http2Frame(11, kContinuation, 0, 3)), std::nullopt);
  EXPECT_EQ(Receive(Http2Frame(1, kContinuation, kEndHeaders, 3)), Excess::kHeaderBytes);
}

TEST_F(FrameMeterTest, PaddingAndPriorityAreNoFields) {
  std::string frame = Http2Frame(60, kHeaders, kEndHeaders | 0x8 | 0x20, 1);
  frame[9] = 30;  // the length of the padding
  ASSERT_EQ(Receive(frame), std::nullopt);
  EXPECT_EQ(meter_.open_bytes(), 60u + (60 - 1 - 5 - 30) * 64);
}

TEST_F(FrameMeterTest, ResetStreamsCountForSomeSeconds) {
  for (uint32_t stream = 1; stream < 41; stream += 2) {
    ASSERT_EQ(Receive(absl::StrCat(Call(stream), ResetWith(8, stream))), std::nullopt);
  }
  EXPECT_EQ(meter_.open_streams(), 0u);
  EXPECT_EQ(meter_.recent_resets(now_), 20u);
  EXPECT_EQ(meter_.recent_resets(now_ + std::chrono::seconds(3)), 5u);
  EXPECT_EQ(meter_.recent_resets(now_ + std::chrono::seconds(9)), 0u);
}

TEST_F(FrameMeterTest, LimitsEmptyContinuations) {
  ASSERT_EQ(Receive(Http2Frame(10, kHeaders, 0, 1)), std::nullopt);
  EXPECT_EQ(CountUntilExcess(Http2Frame(0, kContinuation, 0, 1), Excess::kControlFrames), 15);
}

TEST_F(FrameMeterTest, CountsOpenStreams) {
  for (uint32_t stream = 1; stream <= 9; stream += 2) ASSERT_EQ(Receive(Call(stream)), std::nullopt);
  EXPECT_EQ(meter_.open_streams(), 5u);
  Send(Response(3));
  EXPECT_EQ(meter_.open_streams(), 4u);
  ASSERT_EQ(Receive(ResetWith(8, 5)), std::nullopt);
  Send(ResetWith(8, 5));  // both sides reset it
  EXPECT_EQ(meter_.open_streams(), 3u);
  ASSERT_EQ(Receive(Http2Frame(10, kHeaders, kEndHeaders | kEndStream, 7)), std::nullopt);  // trailers
  EXPECT_EQ(meter_.open_streams(), 3u);
  for (const uint32_t stream : {1, 7, 9}) Send(Response(stream));
  EXPECT_EQ(meter_.open_streams(), 0u);
}

TEST_F(FrameMeterTest, CountsTheBytesOfOpenStreams) {
  ASSERT_EQ(Receive(absl::StrCat(Call(1), Call(3), Http2Frame(7, kData, 0, 3))), std::nullopt);
  // For each call: 20 bytes with 20 fields of headers, and 100 bytes of data.
  constexpr size_t kCall = 20 + 20 * 64 + 100;
  EXPECT_EQ(meter_.open_bytes(), 2 * kCall + 7);
  ASSERT_EQ(Receive(Http2Frame(50, kData, 0, 99)), std::nullopt);  // gRPC discards it
  EXPECT_EQ(meter_.open_bytes(), 2 * kCall + 7);
  Send(Response(3));
  EXPECT_EQ(meter_.open_bytes(), kCall);
  ASSERT_EQ(Receive(ResetWith(8, 1)), std::nullopt);
  EXPECT_EQ(meter_.open_bytes(), 0u);
}

// gRPC ignores streams with even ids, so a large one must not hide the streams that gRPC accepts.
TEST_F(FrameMeterTest, AnIdThatGrpcIgnoresHidesNoStream) {
  ASSERT_EQ(Receive(Http2Frame(20, kHeaders, kEndHeaders, 0x7ffffffe)), std::nullopt);
  for (uint32_t stream = 1; stream < 20; stream += 2) {
    ASSERT_EQ(Receive(Http2Frame(20, kHeaders, kEndHeaders, stream)), std::nullopt);
  }
  EXPECT_EQ(meter_.open_streams(), 11u);
}

TEST_F(FrameMeterTest, LimitsHeadersThatBeginNoCall) {
  ASSERT_EQ(Receive(Call(1)), std::nullopt);
  EXPECT_EQ(CountUntilExcess(Http2Frame(20, kHeaders, kEndHeaders, 1), Excess::kControlFrames), 15);
}

TEST_F(FrameMeterTest, SeesTheGoAwayThatGrpcSends) {
  Send(Response(1));
  EXPECT_FALSE(meter_.has_sent_go_away());
  Send(Http2Frame(8, kGoAway, 0, 0));
  EXPECT_TRUE(meter_.has_sent_go_away());
}

TEST_F(FrameMeterTest, TheBytesMayBeDividedAnywhere) {
  std::string received;
  for (uint32_t stream = 1; stream < 100; stream += 2) {
    absl::StrAppend(&received, Call(stream), ResetWith(8, stream), Http2Frame(8, kPing, 0, 0));
  }
  std::mt19937 random(7);
  const FrameMeter::Limits limits{
      .max_header_bytes = 640, .max_resets_per_second = 4, .max_control_frames_per_second = 9};
  for (int round = 0; round < 300; ++round) {
    FrameMeter meter(limits, now_);
    EXPECT_EQ(meter.Receive(kHttp2Preface, now_), std::nullopt);
    size_t at = 0;
    std::optional<Excess> excess;
    while (!excess.has_value() && at < received.size()) {
      const size_t part = std::uniform_int_distribution<size_t>(1, 1 + round)(random);
      excess = meter.Receive(absl::string_view(received).substr(at, part), now_);
      at += part;
    }
    EXPECT_EQ(excess, Excess::kResets);
    // The 21st reset, whose frame is complete with its code.
    const size_t end = 21 * (Call(1).size() + 13 + 17) - 17;
    EXPECT_GE(at, end);
    EXPECT_LT(at, end + 1 + round);
  }
}

// Under ASan, this test also finds reads outside of the bytes.
std::string FrameWith(const std::string& payload, char type, char flags, uint32_t stream) {
  return Http2Frame(payload.size(), type, flags, stream).substr(0, 9) + payload;
}

constexpr char kPadded = 0x8;
constexpr char kHasPriority = 0x20;

// The fields ":path: /" and "content-type: application/grpc" (RFC 7541).
constexpr char kPath[] = "\x84";
constexpr char kGrpcType[] =
    "\x0f\x10\x10"
    "application/grpc";

// Each has the frames of one request on the stream 1.
std::vector<std::string> RequestsWith(const std::string& fields) {
  const std::string priority(5, '\0');
  return {
      FrameWith(fields, kHeaders, kEndHeaders, 1),
      absl::StrCat(FrameWith("", kHeaders, 0, 1), FrameWith(fields, kContinuation, kEndHeaders, 1)),
      absl::StrCat(FrameWith(fields, kHeaders, kEndStream, 1), FrameWith("", kContinuation, kEndHeaders, 1)),
      absl::StrCat(FrameWith(fields.substr(0, 1), kHeaders, 0, 1),
                   FrameWith(fields.substr(1), kContinuation, kEndHeaders, 1)),
      FrameWith(absl::StrCat("\3", priority, fields, std::string(3, '\0')), kHeaders,
                kEndHeaders | kPadded | kHasPriority, 1),
  };
}

TEST_F(FrameMeterTest, FindsWhereLargeFramesBeginAndEnd) {
  const std::string head = Http2Frame(20, kHeaders, kEndHeaders, 1);
  ASSERT_EQ(Receive(absl::StrCat(head, Http2Frame(2048, kData, 0, 1), Http2Frame(2047, kData, 0, 1))), std::nullopt);
  const size_t begin = head.size() + 9;
  EXPECT_EQ(meter_.cuts(), (std::vector<size_t>{begin, begin + 2048}));
  const std::string large = Http2Frame(5000, kData, 0, 1);
  ASSERT_EQ(Receive(large.substr(0, 1000)), std::nullopt);
  EXPECT_EQ(meter_.cuts(), (std::vector<size_t>{9, 1000}));
  ASSERT_EQ(Receive(large.substr(1000)), std::nullopt);
  EXPECT_EQ(meter_.cuts(), (std::vector<size_t>{0, 4009}));
  ASSERT_EQ(Receive(Http2Frame(100, kData, 0, 1)), std::nullopt);
  EXPECT_TRUE(meter_.cuts().empty());
}

TEST_F(FrameMeterTest, FindsTheFirstPlaceForAFrameOfAnotherStream) {
  const std::string headers = Http2Frame(20, kHeaders, 0, 1);
  ASSERT_EQ(Receive(headers), std::nullopt);
  EXPECT_EQ(meter_.first_gap(), std::nullopt);
  EXPECT_FALSE(meter_.is_in_received_gap());
  const std::string continuation = Http2Frame(10, kContinuation, kEndHeaders, 1);
  const std::string data = Http2Frame(100, kData, 0, 1);
  ASSERT_EQ(Receive(absl::StrCat(continuation, data, data.substr(0, 50))), std::nullopt);
  EXPECT_EQ(meter_.first_gap(), continuation.size());
  EXPECT_FALSE(meter_.is_in_received_gap());
  ASSERT_EQ(Receive(data.substr(50, 20)), std::nullopt);
  EXPECT_EQ(meter_.first_gap(), std::nullopt);
  ASSERT_EQ(Receive(data.substr(70)), std::nullopt);
  EXPECT_EQ(meter_.first_gap(), data.size() - 70);
  EXPECT_TRUE(meter_.is_in_received_gap());
  const std::string reset = ResetWith(0, 1);
  ASSERT_EQ(Receive(reset), std::nullopt);
  EXPECT_EQ(meter_.first_gap(), reset.size());
}

TEST_F(FrameMeterTest, FindsTheRequestsOfOtherProtocols) {
  for (const std::string& foreign : RequestsWith(kPath)) {
    for (size_t divided = 0; divided < foreign.size(); ++divided) {
      FrameMeter meter({}, now_);
      meter.Receive(absl::StrCat(kHttp2Preface, foreign.substr(0, divided)), now_);
      EXPECT_EQ(meter.foreign_requests().size(), 0u);
      meter.Receive(absl::StrCat(foreign.substr(divided), Http2Frame(100, kData, kEndStream, 1)), now_);
      ASSERT_EQ(meter.foreign_requests().size(), 1u) << divided;
      EXPECT_EQ(meter.foreign_requests()[0].stream, 1u);
      EXPECT_EQ(meter.foreign_requests()[0].end, foreign.size() - divided);
      EXPECT_EQ(meter.open_streams(), 0u);
    }
  }
}

TEST_F(FrameMeterTest, TheContentTypeOfOneRequestIsNotThatOfTheNext) {
  for (const std::string& grpc : RequestsWith(absl::StrCat(kPath, kGrpcType))) {
    FrameMeter meter({}, now_);
    meter.Receive(absl::StrCat(kHttp2Preface, grpc), now_);
    EXPECT_EQ(meter.foreign_requests().size(), 0u);
    meter.Receive(FrameWith(kPath, kHeaders, kEndHeaders | kEndStream, 3), now_);
    ASSERT_EQ(meter.foreign_requests().size(), 1u);
    EXPECT_EQ(meter.foreign_requests()[0].stream, 3u);
  }
}

TEST_F(FrameMeterTest, ReadsRandomBytesToTheirEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    FrameMeter meter({}, now_);
    std::string bytes(2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() & (round % 2 == 0 ? 0xff : 0x03));
    meter.Receive(bytes, now_);
    meter.Send(bytes, now_);
    EXPECT_LE(meter.open_streams(), 2000u / 9);
  }
}

}  // namespace
}  // namespace stampgate
