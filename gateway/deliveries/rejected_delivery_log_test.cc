#include "gateway/deliveries/rejected_delivery_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kPerSecond = DeliveryLog::kPerSecond;

const Intake::Report kNotFound{404, "not_found", "", ""};
const Intake::Report kTooLarge{413, "too_large", "", ""};
constexpr char kNotFoundLine[] = "delivery_not_stored http_status=404 outcome=not_found header= event_id=";

class DeliveryLogTest : public testing::Test {
 protected:
  void Add(const Intake::Report& report, size_t times) {
    for (size_t i = 0; i < times; ++i) log_.Add(report);
  }

  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<std::string> lines_;
  DeliveryLog log_{[this] { return now_; },
                   [this](absl::string_view event, const LogFields& fields) {
                     std::string line(event);
                     for (const auto& [name, value] : fields) {
                       absl::StrAppend(&line, " ", name, "=");
                       std::visit([&line](const auto& each) { absl::StrAppend(&line, each); }, value);
                     }
                     lines_.push_back(std::move(line));
                   }};
};

TEST_F(DeliveryLogTest, ADeliveryThatWasNotStoredIsLoggedWithItsReason) {
  log_.Add({200, "stored", "", "evt_1"});
  log_.Add({200, "duplicate", "", "evt_1"});
  log_.Add(kNotFound);
  log_.Add({400, "missing_header", "x-service-signature", ""});
  log_.Add({200, "conflict", "", "evt_2"});
  EXPECT_THAT(
      Take(),
      ElementsAre(kNotFoundLine,
                  "delivery_not_stored http_status=400 outcome=missing_header header=x-service-signature event_id=",
                  "delivery_not_stored http_status=200 outcome=conflict header= event_id=evt_2"));
  log_.Finish();
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(DeliveryLogTest, LinesBeyondTheLimitAreCounted) {
  Add(kNotFound, kPerSecond + 7);
  EXPECT_THAT(Take(), SizeIs(kPerSecond));
  Add(kTooLarge, 2);
  EXPECT_THAT(Take(), SizeIs(2)) << "another outcome has its own limit";
  now_ += absl::Milliseconds(999);
  log_.Add(kNotFound);
  EXPECT_THAT(Take(), IsEmpty());
  now_ += absl::Milliseconds(1);
  log_.Add(kNotFound);
  EXPECT_THAT(Take(), ElementsAre("deliveries_left_out outcome=not_found count=8", kNotFoundLine));
  log_.Add(kNotFound);
  EXPECT_THAT(Take(), ElementsAre(kNotFoundLine));
}

TEST_F(DeliveryLogTest, TheNumberOfLeftOutLinesIsLoggedWithTheNextDeliveryOrAtTheEnd) {
  Add(kNotFound, kPerSecond + 1);
  Take();
  now_ += absl::Hours(1);
  log_.Add(kTooLarge);
  EXPECT_THAT(Take(), ElementsAre("deliveries_left_out outcome=not_found count=1",
                                  "delivery_not_stored http_status=413 outcome=too_large header= event_id="));
  Add(kNotFound, kPerSecond + 2);
  Take();
  log_.Finish();
  EXPECT_THAT(Take(), ElementsAre("deliveries_left_out outcome=not_found count=2"));
  log_.Finish();
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(DeliveryLogTest, EachVerifiedEventThatWasNotStoredIsLogged) {
  Add({503, "not_stored", "", "evt_1"}, 3 * kPerSecond);
  EXPECT_THAT(Take(), SizeIs(3 * kPerSecond));
}

TEST_F(DeliveryLogTest, EachLineIsCountedOnceWithManyThreadsAndAClockThatIsSetBack) {
  constexpr size_t kThreads = 4;
  constexpr size_t kTimes = 5000;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] { Add(kNotFound, kTimes); });
  }
  for (std::thread& thread : threads) thread.join();
  now_ -= absl::Hours(1);
  Add(kNotFound, kTimes);
  log_.Finish();
  size_t reported = 0;
  for (const std::string& line : Take()) {
    size_t count = 1;
    if (line != kNotFoundLine) {
      ASSERT_TRUE(absl::SimpleAtoi(line.substr(line.rfind('=') + 1), &count)) << line;
    }
    reported += count;
  }
  EXPECT_EQ(reported, (kThreads + 1) * kTimes);
}

}  // namespace
}  // namespace stampgate
