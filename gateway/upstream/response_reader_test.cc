#include "gateway/upstream/response_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "gateway/memory/account.h"
#include "gateway/memory/held_bytes.h"

namespace stampgate {
namespace {

using State = ResponseReader::State;

constexpr int64_t kMaxBytes = 1000;
constexpr char kOk[] = "HTTP/1.1 200 OK\r\n";

constexpr int64_t kMaxLarge = 8 << 20;

struct Result {
  State state = State::kMore;
  HttpAnswer answer = {};
  bool keeps_connection = false;
};

// Reads `bytes` in parts of `part` bytes.
Result Read(const std::string& bytes, size_t part, bool ends = false) {
  ResponseReader reader(kMaxBytes);
  Result result;
  for (size_t at = 0; at < bytes.size() && result.state == State::kMore; at += part) {
    result.state = reader.Read(absl::string_view(bytes).substr(at, part));
  }
  if (ends && result.state == State::kMore) result.state = reader.ReadEnd();
  if (result.state == State::kDone) {
    result.keeps_connection = reader.keeps_connection();
    result.answer = reader.TakeAnswer(/*for_cache=*/true);
  }
  return result;
}

TEST(ResponseReaderTest, ReadsResponsesInPartsOfEverySize) {
  struct Row {
    std::string bytes;
    int status;
    std::string body;
    bool keeps_connection;
  };
  const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n";
  for (const Row& row : {
           Row{absl::StrCat(kOk, "Content-Length: 3\r\n\r\nabc"), 200, "abc", true},
           Row{absl::StrCat(kOk, "Content-Length: 0\r\n\r\n"), 200, "", true},
           Row{absl::StrCat(kOk, chunks), 200, "abcdefg", true},
           Row{absl::StrCat(kOk, "Connection: close\r\nContent-Length: 1\r\n\r\nx"), 200, "x", false},
           Row{absl::StrCat("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"), 200, "x", false},
           Row{"HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
           Row{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true},
           Row{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 101, "", false},
           Row{absl::StrCat("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", kOk,
                            "Content-Length: 1\r\n\r\nx"),
               200, "x", true},
           Row{absl::StrCat("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1\r\n\r\nx"), 500, "x", true},
       }) {
    for (size_t part = 1; part <= row.bytes.size(); ++part) {
      const Result result = Read(row.bytes, part);
      ASSERT_EQ(result.state, State::kDone) << row.bytes << part;
      EXPECT_EQ(result.answer.status, row.status);
      EXPECT_EQ(result.answer.body, row.body);
      EXPECT_GE(result.answer.body.capacity() - result.answer.body.size(), kJsonPadding);
      EXPECT_EQ(result.keeps_connection, row.keeps_connection) << row.bytes << part;
    }
  }
}

TEST(ResponseReaderTest, TheEndOfTheConnectionEndsABodyWithoutALength) {
  for (const size_t part : {1, 7, 1000}) {
    const Result result = Read(absl::StrCat(kOk, "\r\nabc"), part, /*ends=*/true);
    EXPECT_EQ(result.state, State::kDone);
    EXPECT_EQ(result.answer.body, "abc");
    EXPECT_FALSE(result.keeps_connection);
  }
}

TEST(ResponseReaderTest, AResponseThatIsCutIsMalformed) {
  for (const std::string& bytes :
       {std::string(), std::string("HTTP/1.1 200"), std::string(kOk), absl::StrCat(kOk, "Content-Len"),
        absl::StrCat(kOk, "Content-Length: 100\r\n\r\n{\"a\":"),
        absl::StrCat(kOk, "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":"),
        absl::StrCat(kOk, "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n"),
        absl::StrCat("HTTP/1.1 100 Continue\r\n\r\n"), absl::StrCat("HTTP/1.1 100 Continue\r\n\r\n", kOk)}) {
    for (const size_t part : {1, 5, 1000})
      EXPECT_EQ(Read(bytes, part, /*ends=*/true).state, State::kMalformed) << bytes;
  }
}

TEST(ResponseReaderTest, RefusesWhatIsNotHttp) {
  for (const std::string& bytes :
       {std::string("not http\r\n\r\n"), absl::StrCat(kOk, "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
        absl::StrCat(kOk, "Content-Length: -1\r\n\r\n"), absl::StrCat(kOk, "A B: x\r\n\r\n"),
        absl::StrCat(kOk, "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
        absl::StrCat(kOk, "A: ", std::string(70000, 'x'), "\r\n\r\n")}) {
    EXPECT_EQ(Read(bytes, bytes.size()).state, State::kMalformed) << bytes.substr(0, 100);
    EXPECT_EQ(Read(bytes, 1000).state, State::kMalformed) << bytes.substr(0, 100);
  }
}

TEST(ResponseReaderTest, InterimResponsesHaveALimit) {
  std::string interim;
  for (int i = 0; i < kMaxInterimResponses; ++i) interim.append("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  const std::string response = absl::StrCat(kOk, "Content-Length: 1\r\n\r\nx");
  for (const size_t part : {size_t{7}, size_t{1000}, interim.size() * 2}) {
    EXPECT_EQ(Read(absl::StrCat(interim, response), part).answer.body, "x") << part;
    EXPECT_EQ(Read(absl::StrCat(interim, "HTTP/1.1 100 Continue\r\n\r\n", response), part).state,
              State::kTooManyInterim)
        << part;
  }
}

TEST(ResponseReaderTest, TheBodyHasALimit) {
  const std::string whole(kMaxBytes, 'x');
  EXPECT_EQ(Read(absl::StrCat(kOk, "Content-Length: 1000\r\n\r\n", whole), 100).state, State::kDone);
  EXPECT_EQ(Read(absl::StrCat(kOk, "Content-Length: 1001\r\n\r\n"), 100).state, State::kTooLarge);
  EXPECT_EQ(Read(absl::StrCat(kOk, "Content-Length: 99999999999\r\n\r\n"), 100).state, State::kTooLarge);
  EXPECT_EQ(Read(absl::StrCat(kOk, "\r\n", whole, "x"), 100).state, State::kTooLarge);
  EXPECT_EQ(Read(absl::StrCat(kOk, "Transfer-Encoding: chunked\r\n\r\n3e8\r\n", whole, "\r\n1\r\nx\r\n"), 100).state,
            State::kTooLarge);
}

class ReservingReaderTest : public ::testing::Test {
 protected:
  ~ReservingReaderTest() override { EXPECT_EQ(held(), 0); }

  int64_t held() const { return memory_->bytes() - MemoryAccount::kConnectionBytes; }

  const std::shared_ptr<MemoryAccount> memory_ =
      std::make_shared<MemoryAccount>(MemoryAccount::Limits{.max_bytes_per_connection = 4 << 20});
  const std::shared_ptr<MemoryHolder> holder_ = memory_->Open("a", [](MemoryBound) {});
};

TEST_F(ReservingReaderTest, ReservesABodyBeforeItArrivesUntilItIsDestroyed) {
  ResponseReader reader(kMaxLarge, HeldBytes(holder_));
  EXPECT_EQ(reader.Read(absl::StrCat(kOk, "Content-Length: 1000000\r\n\r\n")), State::kMore);
  EXPECT_GE(held(), 1'000'000);
  EXPECT_LE(held(), 1'000'100);
  EXPECT_EQ(reader.Read(std::string(1'000'000, 'x')), State::kDone);
  HttpAnswer answer = reader.TakeAnswer(/*for_cache=*/false);
  EXPECT_GE(held(), 1'000'000);
  answer = HttpAnswer();
}

TEST_F(ReservingReaderTest, ReservesABodyWithoutALengthAsItGrows) {
  ResponseReader reader(kMaxLarge, HeldBytes(holder_));
  EXPECT_EQ(reader.Read(absl::StrCat(kOk, "\r\n")), State::kMore);
  for (int64_t size = 10'000; size <= 1'000'000; size += 10'000) {
    EXPECT_EQ(reader.Read(std::string(10'000, 'x')), State::kMore);
    EXPECT_GE(held(), size);
    EXPECT_LE(held(), 2 * size + 10'100);
  }
}

TEST_F(ReservingReaderTest, ABodyForWhichThereIsNoMemoryEndsTheExchange) {
  ResponseReader announced(kMaxLarge, HeldBytes(holder_));
  EXPECT_EQ(announced.Read(absl::StrCat(kOk, "Content-Length: 5000000\r\n\r\n")), State::kNoMemory);
  EXPECT_EQ(announced.memory().code(), absl::StatusCode::kResourceExhausted);
  ResponseReader growing(kMaxLarge, HeldBytes(holder_));
  State state = growing.Read(absl::StrCat(kOk, "\r\n"));
  for (int i = 0; i < 1000 && state == State::kMore; ++i) state = growing.Read(std::string(10'000, 'x'));
  EXPECT_EQ(state, State::kNoMemory);
}

TEST(ResponseReaderTest, BytesAfterTheResponseEndTheConnection) {
  const Result result = Read(absl::StrCat(kOk, "Content-Length: 1\r\n\r\nx", kOk), 1000);
  EXPECT_EQ(result.state, State::kDone);
  EXPECT_EQ(result.answer.body, "x");
  EXPECT_FALSE(result.keeps_connection);
}

TEST(ResponseReaderTest, ReadsTheHeadersAboutCaches) {
  const Result result = Read(
      absl::StrCat(kOk, "Cache-Control: max-age=5\r\nAge: 3\r\ncache-control: public\r\n", "Content-Length: 0\r\n\r\n"),
      1000);
  EXPECT_EQ(result.answer.cache_control, "max-age=5, public");
  EXPECT_EQ(result.answer.age, "3");
}

TEST(ResponseReaderTest, RandomBytesNeverCrashIt) {
  std::mt19937 random(7);
  const std::string alphabet = "HTTP/1. 20\r\n:abcChunkedTransfer-EncodingContent-Length0123";
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = round % 2 == 0 ? std::string(kOk) : "";
    while (random() % 40 != 0) bytes += alphabet[random() % alphabet.size()];
    Read(bytes, 1 + random() % 8, random() % 2 == 0);
  }
}

}  // namespace
}  // namespace stampgate
