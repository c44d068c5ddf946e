#include "gateway/grpc_port/send_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr size_t kInitial = 65535;
constexpr std::chrono::seconds kTime(30);

SendWindows::Time At(int seconds) { return SendWindows::Time() + std::chrono::seconds(seconds); }

// Returns a setting of a SETTINGS frame.
std::string Setting(uint16_t id, uint32_t value) {
  std::string bytes;
  for (const int shift : {8, 0}) bytes += static_cast<char>(id >> shift);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift);
  return bytes;
}

class SendWindowsTest : public ::testing::Test {
 protected:
  // A connection that accepts more than any stream.
  SendWindowsTest() { windows_.Grow(0, 1 << 30); }

  SendWindows windows_;
};

TEST_F(SendWindowsTest, AStreamIsUnreadWhenItsWindowIsUsedUpForTheTime) {
  windows_.Begin(1, At(0));
  windows_.Send(1, kInitial, At(5));
  EXPECT_THAT(windows_.Unread(At(34), kTime), IsEmpty());
  EXPECT_THAT(windows_.Unread(At(35), kTime), ElementsAre(1u));
}

TEST_F(SendWindowsTest, AStreamWithOneByteLeftHasNothingToSend) {
  windows_.Begin(1, At(0));
  windows_.Send(1, kInitial - 1, At(0));
  EXPECT_THAT(windows_.Unread(At(1000), kTime), IsEmpty());
}

TEST_F(SendWindowsTest, EachByteThatTheClientAcceptsIsProgress) {
  windows_.Begin(1, At(0));
  windows_.Send(1, kInitial, At(0));
  windows_.Grow(1, 1);
  windows_.Send(1, 1, At(29));
  EXPECT_THAT(windows_.Unread(At(58), kTime), IsEmpty());
  EXPECT_THAT(windows_.Unread(At(59), kTime), ElementsAre(1u));
}

TEST_F(SendWindowsTest, AClientCanAcceptBytesBeforeTheResponse) {
  windows_.Grow(1, 100);
  windows_.Begin(1, At(0));
  windows_.Send(1, kInitial, At(0));
  EXPECT_THAT(windows_.Unread(At(1000), kTime), IsEmpty());
}

TEST_F(SendWindowsTest, AStreamWithoutAResponseIsNotUnread) {
  windows_.ReadSettings(Setting(4, 0), At(0));
  windows_.Grow(3, 0);
  EXPECT_THAT(windows_.Unread(At(1000), kTime), IsEmpty());
  windows_.Begin(3, At(1000));
  EXPECT_THAT(windows_.Unread(At(1030), kTime), ElementsAre(3u));
}

TEST_F(SendWindowsTest, TheClientCanSetTheInitialWindowAtAnyTimeInAnyParts) {
  windows_.Begin(1, At(0));
  windows_.Send(1, 1000, At(0));
  const std::string settings = Setting(3, 0) + Setting(4, 1000) + Setting(5, 16384);
  for (const char byte : settings) windows_.ReadSettings({&byte, 1}, At(0));
  EXPECT_THAT(windows_.Unread(At(30), kTime), ElementsAre(1u));
  windows_.ReadSettings(Setting(4, 1001), At(30));
  EXPECT_THAT(windows_.Unread(At(30), kTime), IsEmpty());
}

TEST_F(SendWindowsTest, AStreamWithNothingToSendIsNotUnreadAtOnceIfTheClientMakesItsWindowSmaller) {
  windows_.Begin(1, At(0));
  windows_.Send(1, 1000, At(0));
  windows_.ReadSettings(Setting(4, 1000), At(100));
  EXPECT_THAT(windows_.Unread(At(129), kTime), IsEmpty());
  windows_.ReadSettings(Setting(4, 500), At(129));  // does not begin the time anew
  EXPECT_THAT(windows_.Unread(At(130), kTime), ElementsAre(1u));
}

TEST_F(SendWindowsTest, AStreamThatHasEndedIsNotUnread) {
  windows_.Begin(1, At(0));
  windows_.Send(1, kInitial, At(0));
  windows_.End(1);
  windows_.Send(1, 1, At(0));
  EXPECT_THAT(windows_.Unread(At(30), kTime), IsEmpty());
}

TEST(SendWindowsOfAConnectionTest, AllResponsesWaitIfTheWindowOfTheConnectionIsUsedUpForTheTime) {
  SendWindows windows;
  windows.Begin(1, At(0));
  windows.Begin(3, At(0));
  EXPECT_FALSE(windows.IsStalled(At(1000), kTime));
  windows.Send(1, kInitial, At(5));
  windows.Grow(1, 1000);
  EXPECT_FALSE(windows.IsStalled(At(34), kTime));
  EXPECT_THAT(windows.Unread(At(34), kTime), IsEmpty());
  EXPECT_TRUE(windows.IsStalled(At(35), kTime));
  EXPECT_THAT(windows.Unread(At(35), kTime), UnorderedElementsAre(1u, 3u));
  windows.Grow(0, 1);
  EXPECT_FALSE(windows.IsStalled(At(35), kTime));
  EXPECT_THAT(windows.Unread(At(35), kTime), IsEmpty());
}

TEST(SendWindowsOfAConnectionTest, AStreamWithNothingToSendIsNotUnreadWhileTheClientReadsAnother) {
  SendWindows windows;
  windows.Begin(1, At(0));
  windows.Begin(3, At(0));
  windows.Grow(3, 1 << 20);
  windows.Send(3, kInitial, At(0));
  for (int second = 1; second < 100; ++second) {
    windows.Grow(0, 1000);
    windows.Send(3, 1000, At(second));
    EXPECT_THAT(windows.Unread(At(second), kTime), IsEmpty());
  }
}

TEST(SendWindowsOfAConnectionTest, FurtherResponsesThatBeginAreNoProgress) {
  SendWindows windows;
  windows.Begin(1, At(0));
  windows.Send(1, kInitial, At(0));
  windows.Begin(3, At(29));
  EXPECT_TRUE(windows.IsStalled(At(30), kTime));
  EXPECT_THAT(windows.Unread(At(30), kTime), ElementsAre(1u));
}

}  // namespace
}  // namespace stampgate
