#include "webhooks/log/cursor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/escaping.h"

namespace stampgate {
namespace {

constexpr absl::StatusCode kNoCursor = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kOtherLog = absl::StatusCode::kFailedPrecondition;

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

LogIdentity LogNumber(uint8_t number) {
  LogIdentity log;
  for (size_t i = 0; i < log.id.size(); ++i) log.id[i] = static_cast<uint8_t>(number + i);
  for (size_t i = 0; i < log.cursor_key.size(); ++i) log.cursor_key[i] = static_cast<uint8_t>(number ^ i);
  return log;
}

// Returns a point with a digest that depends on the position.
LogPoint At(Position position) {
  LogPoint point = {.position = position, .digest = {}};
  point.digest.fill(0x5a);
  point.digest[3] = static_cast<uint8_t>(position);
  return point;
}

constexpr char kCursor[] = "AwjvFf7xyz-zVHKEio9-Rk12J49-CBOqNh2SIUu3mF-_m-c4UrPWGOul0rmpJVFF1YxImDll_HcI";

// kCursor was computed with Python's modules hmac and base64.
TEST(CursorTest, ACursorHasTheDocumentedForm) {
  EXPECT_EQ(EncodeCursor(LogNumber(16), At(258)), kCursor);
  const Cursor cursor = DecodeCursor(LogNumber(16), kCursor).value();
  EXPECT_EQ(cursor.position, 258);
  EXPECT_TRUE(cursor.Fits(At(258).digest));
  EXPECT_FALSE(cursor.Fits(At(259).digest));
}

// A caller that may read one organization's events must not learn how many events the log has.
TEST(CursorTest, ACursorDoesNotShowItsPosition) {
  const LogIdentity log = LogNumber(16);
  std::set<std::string> shown;
  for (Position position = 0; position < 1000; ++position) {
    std::string bytes;
    ASSERT_TRUE(absl::WebSafeBase64Unescape(EncodeCursor(log, {.position = position, .digest = {}}), &bytes));
    shown.insert(bytes.substr(17, 4));  // the upper half of the position, which is 0 for all these positions
  }
  EXPECT_GT(shown.size(), 990u);
}

// Subscribers can still have cursors of version 2.
TEST(CursorTest, ACursorOfVersion2IsAccepted) {
  const Cursor cursor =
      DecodeCursor(LogNumber(16), "AgjvFf7xyz-zVHKEio9-Rk0AAAAAAAABAlpaWgJaWlpaWlpaWlpaWlpnr4KPqu32UQUSzzyWXbyu")
          .value();
  EXPECT_EQ(cursor.position, 258);
  EXPECT_TRUE(cursor.Fits(At(258).digest));
  EXPECT_FALSE(cursor.Fits(At(259).digest));
  EXPECT_EQ(DecodeCursor(LogNumber(16), "AgjvFf7xyz-zVHKEio9-Rk0AAAAAAAABA1paWgJaWlpaWlpaWlpaWlpnr4KPqu32UQUSzzyWXbyu")
                .status()
                .code(),
            kNoCursor);
}

// Subscribers can still have cursors of version 1.
TEST(CursorTest, ACursorOfVersion1IsAcceptedAndFitsEveryEvent) {
  const Cursor cursor = DecodeCursor(LogNumber(16), "AQjvFf7xyz-zVHKEio9-Rk0AAAAAAAABAkew3K1lO3LCVxA2HDOHJFQ").value();
  EXPECT_EQ(cursor.position, 258);
  EXPECT_TRUE(cursor.Fits(At(258).digest));
  EXPECT_TRUE(cursor.Fits(At(259).digest));
  EXPECT_EQ(DecodeCursor(LogNumber(16), "AQjvFf7xyz-zVHKEio9-Rk0AAAAAAAABA0ew3K1lO3LCVxA2HDOHJFQ").status().code(),
            kNoCursor);
}

TEST(CursorTest, ACursorWithoutADigestFitsEveryEvent) {
  const LogIdentity log = LogNumber(1);
  EXPECT_TRUE(DecodeCursor(log, EncodeCursor(log, {.position = 5, .digest = {}}))->Fits(At(5).digest));
}

TEST(CursorTest, ADecodedCursorHasTheEncodedPositionAndDigest) {
  const LogIdentity log = LogNumber(1);
  for (Position position : {Position{0}, Position{1}, Position{255}, Position{256}, Position{1} << 40,
                            std::numeric_limits<Position>::max()}) {
    const std::string cursor = EncodeCursor(log, At(position));
    EXPECT_EQ(cursor.size(), 76);
    absl::StatusOr<Cursor> decoded = DecodeCursor(log, cursor);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->position, position);
    EXPECT_TRUE(decoded->Fits(At(position).digest));
  }
}

TEST(CursorTest, ACursorOfAnotherLogIsRejected) {
  EXPECT_EQ(DecodeCursor(LogNumber(1), EncodeCursor(LogNumber(2), At(5))).status().code(), kOtherLog);
}

TEST(CursorTest, ACursorOfAnOlderCursorKeyCountsAsAnotherLogs) {
  LogIdentity other = LogNumber(1);
  other.cursor_key[31] ^= 1;
  EXPECT_EQ(DecodeCursor(LogNumber(1), EncodeCursor(other, At(5))).status().code(), kOtherLog);
}

// Replaces each letter of a cursor by every other letter of the base64url alphabet.
TEST(CursorTest, AnAlteredCursorIsRejected) {
  const LogIdentity log = LogNumber(1);
  const std::string cursor = EncodeCursor(log, At(77));
  for (size_t at = 0; at < cursor.size(); ++at) {
    for (char letter : std::string(kAlphabet)) {
      std::string changed = cursor;
      changed[at] = letter;
      if (changed == cursor) continue;
      const absl::StatusCode code = DecodeCursor(log, changed).status().code();
      EXPECT_TRUE(code == kNoCursor || code == kOtherLog) << changed;
      // Only a change in the log's name can cause the error for a cursor of another event log.
      const bool in_id = at >= 1 && at <= 22;
      EXPECT_TRUE(code == kNoCursor || in_id) << changed;
    }
  }
}

TEST(CursorTest, ATextThatIsNotACursorIsRejected) {
  const LogIdentity log = LogNumber(1);
  const std::string cursor = EncodeCursor(log, At(77));
  for (const std::string& text :
       {std::string(), std::string("A"), cursor + "A", cursor + "=", cursor.substr(1), cursor.substr(0, 75),
        " " + cursor, cursor + "\n", std::string(76, 'A'), std::string(76, '\0'), std::string(76, '\xff'),
        std::string(55, 'A'), cursor.substr(0, 55), std::string(76, '='), std::string(1 << 20, 'A'),
        cursor.substr(0, 75) + "+", cursor.substr(0, 75) + "/"}) {
    EXPECT_EQ(DecodeCursor(log, text).status().code(), kNoCursor) << text.size();
  }
}

TEST(CursorTest, ACursorWithANegativePositionIsRejected) {
  const LogIdentity log = LogNumber(1);
  for (Position position : {Position{-1}, std::numeric_limits<Position>::min()}) {
    EXPECT_EQ(DecodeCursor(log, EncodeCursor(log, At(position))).status().code(), kNoCursor);
  }
}

}  // namespace
}  // namespace stampgate
