// Tests cases that receiver_framing_test.cc does not cover: header fields, splitting a request at every byte, and
// random changes of requests.
#include "base/http/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using State = RequestReader::State;

std::vector<std::pair<std::string, std::string>> Pairs(const RequestHead& head) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const HeaderField& field : head.fields) pairs.emplace_back(field.name, field.value);
  return pairs;
}

// The result of a RequestReader that received bytes in pieces.
struct Outcome {
  State head = State::kMore;
  State body = State::kMore;
  size_t used = 0;
  std::string text;  // the body that was read

  bool operator==(const Outcome&) const = default;
};

// Simulates that `bytes` arrive in pieces. `arrivals` has the number of bytes that have arrived after each piece.
// Passes the unused bytes to a reader after each piece, until the reader is done.
Outcome ReadInPieces(absl::string_view bytes, const std::vector<size_t>& arrivals, size_t max_body_bytes = 100) {
  RequestReader reader(max_body_bytes);
  Outcome outcome;
  for (const size_t arrived : arrivals) {
    absl::string_view unread = bytes.substr(outcome.used, arrived - outcome.used);
    if (outcome.head == State::kMore) outcome.head = reader.ReadHead(unread);
    if (outcome.head == State::kDone && outcome.body == State::kMore)
      outcome.body = reader.ReadBody(unread, outcome.text);
    outcome.used = arrived - unread.size();
    if ((outcome.head != State::kMore && outcome.head != State::kDone) || outcome.body != State::kMore) break;
  }
  return outcome;
}

Outcome ReadAll(absl::string_view bytes, size_t max_body_bytes = 100) {
  return ReadInPieces(bytes, {bytes.size()}, max_body_bytes);
}

std::vector<size_t> EveryByte(absl::string_view bytes) {
  std::vector<size_t> arrivals;
  for (size_t size = 1; size <= bytes.size(); ++size) arrivals.push_back(size);
  return arrivals;
}

constexpr absl::string_view kHead =
    "POST /hook?a=b HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-A:\t \r\ncontent-length: 12\r\nConnection: close\r\n"
    "Expect: 100-Continue\r\n\r\n";
constexpr absl::string_view kChunkedHead = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr absl::string_view kChunks = "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\nB: c\r\n\r\n";

TEST(RequestReaderTest, ReadsAllPartsOfARequestHead) {
  RequestReader reader(100);
  const std::string bytes = absl::StrCat(kHead, "body");
  absl::string_view unread = bytes;
  ASSERT_EQ(reader.ReadHead(unread), State::kDone);
  EXPECT_EQ(unread, "body");
  const RequestHead& head = reader.head();
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/hook?a=b");
  EXPECT_EQ(head.content_length, 12);
  EXPECT_FALSE(head.chunked);
  EXPECT_FALSE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_THAT(Pairs(head), ElementsAre(std::pair("Host", "h"), std::pair("X-A", "1"), std::pair("X-A", ""),
                                       std::pair("content-length", "12"), std::pair("Connection", "close"),
                                       std::pair("Expect", "100-Continue")));
}

TEST(RequestReaderTest, TrailerFieldsDoNotBecomeHeaders) {
  RequestReader reader(100);
  const std::string bytes = absl::StrCat(kChunkedHead, kChunks);
  absl::string_view unread = bytes;
  ASSERT_EQ(reader.ReadHead(unread), State::kDone);
  EXPECT_TRUE(reader.head().chunked);
  std::string body;
  ASSERT_EQ(reader.ReadBody(unread, body), State::kDone);
  EXPECT_EQ(body, "abc0123456789");
  EXPECT_EQ(reader.head().fields.size(), 2u);
}

TEST(RequestReaderTest, LeavesTheBytesOfTheNextRequest) {
  for (const absl::string_view request : {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
                                          "POST / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    const Outcome outcome = ReadAll(absl::StrCat(request, "POST / HTTP"));
    EXPECT_EQ(outcome.body, State::kDone);
    EXPECT_EQ(outcome.used, request.size());
  }
}

TEST(RequestReaderTest, TheResultDoesNotDependOnWhereARequestIsSplit) {
  for (const std::string& whole : {absl::StrCat(kHead, "0123456789ab"), absl::StrCat(kChunkedHead, kChunks)}) {
    const Outcome expected = ReadAll(whole);
    ASSERT_EQ(expected.body, State::kDone);
    ASSERT_EQ(expected.used, whole.size());
    for (size_t first = 1; first < whole.size(); ++first) {
      for (size_t second = first; second < whole.size(); second += 3) {
        ASSERT_EQ(ReadInPieces(whole, {first, second, whole.size()}), expected) << first << " " << second;
      }
    }
  }
}

TEST(RequestReaderTest, RefusesARequestHeadAtTheEndOfItsFirstBadLine) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nA : b\r\nC: d\r\n\r\n";
  const size_t wrong_line_ends = head.find("C: d");
  for (size_t size = 0; size <= head.size(); ++size) {
    EXPECT_EQ(ReadAll(head.substr(0, size)).head, size < wrong_line_ends ? State::kMore : State::kMalformed) << size;
  }
}

TEST(RequestReaderTest, DecidesAboutARequestHeadWithinItsMaximumSize) {
  std::mt19937 random(1);
  const absl::string_view bytes = "a: \r\n";
  for (int i = 0; i < 300; ++i) {
    std::string head = "POST / HTTP/1.1\r\n";
    while (head.size() < kMaxHeadBytes) {
      head += random() % 20 == 0 ? "\r\nb:" : std::string(1 + random() % 400, 'a');
    }
    head.resize(kMaxHeadBytes);
    if (i % 2 == 0) head.back() = bytes[random() % bytes.size()];
    EXPECT_NE(ReadAll(head).head, State::kMore);
  }
}

TEST(RequestReaderTest, RefusesABodyBeforeItExceedsItsMaximumSize) {
  const auto read = [](absl::string_view chunks, size_t max_body_bytes) {
    return ReadAll(absl::StrCat(kChunkedHead, chunks), max_body_bytes);
  };
  EXPECT_EQ(read("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 5).body, State::kDone);
  const Outcome cut = read("3\r\nabc\r\n3\r\n", 5);
  EXPECT_EQ(cut.body, State::kTooLarge);
  EXPECT_EQ(cut.text, "abc");
  EXPECT_EQ(read("FFFFFFFFFFFFFFFF\r\n", 5).body, State::kTooLarge);
  EXPECT_EQ(read("3\r\nabc\r\nfffffffffffffffe\r\n", 5).body, State::kTooLarge);
  EXPECT_EQ(read("0\r\n\r\n", 0).body, State::kDone);
}

TEST(RequestReaderTest, RefusesTooLongChunkExtensionsAndTrailers) {
  const std::string extension = absl::StrCat(kChunkedHead, "1;", std::string(kMaxHeadBytes, 'a'));
  EXPECT_EQ(ReadAll(extension).body, State::kUnsupported);
  const std::string trailer = absl::StrCat(kChunkedHead, "0\r\nA: ", std::string(kMaxHeadBytes, 'a'));
  EXPECT_EQ(ReadAll(trailer).body, State::kUnsupported);
}

// Changes requests at random. If the reader accepts a changed request in one piece, it must accept the same bytes one
// by one, with the same result. If the reader does not accept the request in one piece, it must not accept the bytes
// one by one either. In this case the test does not compare the bodies, because how early Beast refuses depends on the
// pieces.
TEST(RequestReaderTest, AcceptsARandomlyChangedRequestInPiecesIfItAcceptsTheWhole) {
  const std::vector<std::string> seeds = {
      absl::StrCat(kHead, "0123456789ab"),
      absl::StrCat(kChunkedHead, kChunks),
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\nA:b\r\n\r\n",
  };
  constexpr char kInteresting[] = "\r\n\0 \t:,;=\"(\x01\x7f\x80 09afAFg";
  const std::string interesting(kInteresting, sizeof(kInteresting) - 1);
  std::mt19937 random(20250102);
  int taken = 0;
  for (int i = 0; i < 30000; ++i) {
    std::string bytes = seeds[random() % seeds.size()];
    for (size_t edits = random() % 4; edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = interesting[random() % interesting.size()];
          break;
        case 1:
          bytes.insert(at, 1, interesting[random() % interesting.size()]);
          break;
        case 2:
          bytes.erase(at, 1);
          break;
        case 3:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 30));
          break;
      }
      if (bytes.empty()) bytes = "a";
    }
    const Outcome whole = ReadAll(bytes);
    ASSERT_LE(whole.text.size(), 100u);
    const Outcome piecewise = ReadInPieces(bytes, EveryByte(bytes));
    ASSERT_EQ(piecewise.head, whole.head) << testing::PrintToString(bytes);
    ASSERT_EQ(piecewise.body == State::kDone, whole.body == State::kDone) << testing::PrintToString(bytes);
    if (whole.body != State::kDone) continue;
    ++taken;
    ASSERT_EQ(piecewise, whole) << testing::PrintToString(bytes);
  }
  EXPECT_GT(taken, 5000);
}

}  // namespace
}  // namespace stampgate
