#include "gateway/waiting/wait_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using std::chrono::milliseconds;
using std::chrono::seconds;

const ActivityName kActivity = {"o", "a"};
const WaitTable::Time kStart{seconds(1000)};
constexpr seconds kLong(3600);

bool IsFinal(absl::string_view status) {
  return status == "ACTIVITY_STATUS_COMPLETED" || status == "ACTIVITY_STATUS_FAILED" ||
         status == "ACTIVITY_STATUS_REJECTED";
}

WaitTable::Options OptionsOf(size_t max_waiting = 100, uint32_t polls_per_second = 1000) {
  return {.max_waiting = max_waiting, .polls_per_second = polls_per_second, .is_final = IsFinal};
}

ActivityReport ReportOf(const ActivityName& activity, std::string status, bool has_result = true,
                        std::string text = "") {
  if (text.empty()) text = absl::StrCat(activity.second, " ", status);
  return {activity, status, has_result, std::make_shared<const std::string>(std::move(text))};
}

ActivityReport Completed(const ActivityName& activity = kActivity) {
  return ReportOf(activity, "ACTIVITY_STATUS_COMPLETED");
}

ActivityReport Pending(const ActivityName& activity = kActivity, std::string text = "") {
  return ReportOf(activity, "ACTIVITY_STATUS_CONSENSUS_NEEDED", /*has_result=*/false, std::move(text));
}

using End = std::pair<WaitTable::WaitId, WaitEnd>;

std::vector<End> EndsOf(const std::vector<WaitTable::Ended>& ended) {
  std::vector<End> ends;
  for (const WaitTable::Ended& each : ended) ends.emplace_back(each.wait, each.end);
  return ends;
}

// Announces and begins a wait. Fails the test if it ends at once.
void Begin(WaitTable& table, WaitTable::WaitId wait, const ActivityName& activity = kActivity,
           WaitTable::Time now = kStart, WaitTable::Time deadline = kStart + kLong, bool urgent = false,
           absl::string_view caller = "a", double weight = 1) {
  table.Announce();
  EXPECT_FALSE(table.Begin(wait, caller, weight, activity, urgent, deadline, now).has_value());
}

TEST(WaitTableTest, AnEventWithAFinalStatusEndsEveryWaitForItsActivity) {
  for (const char* status : {"ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_FAILED", "ACTIVITY_STATUS_REJECTED"}) {
    WaitTable table(OptionsOf());
    Begin(table, 1);
    Begin(table, 2);
    Begin(table, 3, {"o", "another"});
    const auto ended = table.OnEvent(ReportOf(kActivity, status), kStart);
    EXPECT_THAT(EndsOf(ended), ElementsAre(End(1, WaitEnd::kEvent), End(2, WaitEnd::kEvent)));
    EXPECT_EQ(*ended[0].text, absl::StrCat("a ", status));
    EXPECT_EQ(table.waiting(), 1u);
  }
}

TEST(WaitTableTest, AnEventOfAnotherOrganizationEndsNoWait) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  EXPECT_THAT(table.OnEvent(Completed({"other", "a"}), kStart), IsEmpty());
  EXPECT_THAT(table.OnEvent(Completed({"o", "b"}), kStart), IsEmpty());
  EXPECT_EQ(table.waiting(), 1u);
}

TEST(WaitTableTest, AnEventWithAStatusThatIsNotFinalEndsNoWait) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  EXPECT_THAT(table.OnEvent(Pending(), kStart), IsEmpty());
  for (const char* status : {"ACTIVITY_STATUS_PENDING", "ACTIVITY_STATUS_UNHEARD_OF", "COMPLETED", "completed"}) {
    EXPECT_THAT(table.OnEvent(ReportOf(kActivity, status), kStart), IsEmpty()) << status;
  }
}

TEST(WaitTableTest, AnEventThatArrivesBeforeTheWaitBeginsEndsTheWait) {
  WaitTable table(OptionsOf());
  table.Announce();
  EXPECT_THAT(table.OnEvent(Completed(), kStart), IsEmpty());
  const auto ended = table.Begin(1, "a", 1, kActivity, false, kStart + kLong, kStart);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, WaitEnd::kEvent);
  EXPECT_EQ(*ended->text, "a ACTIVITY_STATUS_COMPLETED");
  EXPECT_FALSE(table.needs_events());
}

TEST(WaitTableTest, WithoutAnAnnouncedWaitNoEndIsRemembered) {
  WaitTable table(OptionsOf());
  table.OnEvent(Completed(), kStart);
  Begin(table, 1);
  table.Announce();
  table.Retract();
  EXPECT_EQ(table.waiting(), 1u);
}

TEST(WaitTableTest, TheMemoryOfEndsIsBounded) {
  WaitTable table(OptionsOf());
  table.Announce();
  for (size_t i = 0; i <= WaitTable::kMaxRecentEnds; ++i) table.OnEvent(Completed({"o", absl::StrCat(i)}), kStart);
  table.Announce();
  EXPECT_FALSE(table.Begin(1, "a", 1, {"o", "0"}, false, kStart + kLong, kStart).has_value());  // forgotten
  table.Announce();
  EXPECT_TRUE(table.Begin(2, "a", 1, {"o", "1"}, false, kStart + kLong, kStart).has_value());
  // A single text of almost all bytes displaces every other text.
  table.OnEvent(ReportOf({"o", "large"}, "ACTIVITY_STATUS_FAILED", false, std::string(WaitTable::kMaxRecentBytes, 'x')),
                kStart);
  table.Announce();
  EXPECT_FALSE(table.Begin(3, "a", 1, {"o", "2"}, false, kStart + kLong, kStart).has_value());
  table.Announce();
  EXPECT_TRUE(table.Begin(4, "a", 1, {"o", "large"}, false, kStart + kLong, kStart).has_value());
}

TEST(WaitTableTest, AnActivityIsReadAfter2And4And8And16SecondsAndThenEvery30Seconds) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  std::vector<int64_t> times;
  for (WaitTable::Time now = kStart; now < kStart + seconds(130); now += milliseconds(100)) {
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      EXPECT_EQ(poll.activity, kActivity);
      times.push_back((now - kStart) / seconds(1));
      const ActivityReport report = Pending();
      table.OnPolled(kActivity, &report, now);
    }
  }
  EXPECT_THAT(times, ElementsAre(2, 6, 14, 30, 60, 90, 120));
}

TEST(WaitTableTest, AReadingWithAFinalStatusEndsEveryWait) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  Begin(table, 2);
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const ActivityReport report = ReportOf(kActivity, "ACTIVITY_STATUS_REJECTED", /*has_result=*/false);
  EXPECT_THAT(EndsOf(table.OnPolled(kActivity, &report, kStart + seconds(2))),
              ElementsAre(End(1, WaitEnd::kPoll), End(2, WaitEnd::kPoll)));
}

TEST(WaitTableTest, AReadingThatReturnsAnotherActivityEndsNoWait) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const ActivityReport other = Completed({"o", "b"});
  EXPECT_THAT(table.OnPolled(kActivity, &other, kStart + seconds(2)), IsEmpty());
  ASSERT_THAT(table.TakePolls(kStart + seconds(6)), SizeIs(1));
  const ActivityReport elsewhere = Completed({"other", "a"});
  EXPECT_THAT(table.OnPolled(kActivity, &elsewhere, kStart + seconds(6)), IsEmpty());
  EXPECT_EQ(table.waiting(), 1u);
}

TEST(WaitTableTest, ReadingsContinueAfterAFailedReading) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  EXPECT_THAT(table.TakePolls(kStart + seconds(5)), IsEmpty());  // the first one is in progress
  table.OnPolled(kActivity, nullptr, kStart + seconds(5));
  EXPECT_THAT(table.TakePolls(kStart + seconds(6)), SizeIs(1));
}

TEST(WaitTableTest, AnEventWithoutTheResultMakesTheGatewayReadTheActivityAtOnce) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  EXPECT_THAT(table.OnEvent(ReportOf(kActivity, "ACTIVITY_STATUS_COMPLETED", /*has_result=*/false), kStart), IsEmpty());
  EXPECT_EQ(table.next(), kStart);
  ASSERT_THAT(table.TakePolls(kStart), SizeIs(1));
  const ActivityReport report = Completed();
  EXPECT_THAT(EndsOf(table.OnPolled(kActivity, &report, kStart)), ElementsAre(End(1, WaitEnd::kPoll)));
}

TEST(WaitTableTest, AnEndWithoutItsResultIsReportedAtTheDeadline) {
  WaitTable table(OptionsOf());
  Begin(table, 1, kActivity, kStart, kStart + seconds(1));
  table.OnEvent(ReportOf(kActivity, "ACTIVITY_STATUS_COMPLETED", /*has_result=*/false, "ended"), kStart);
  ASSERT_THAT(table.TakePolls(kStart), SizeIs(1));
  const ActivityReport stale = Pending();
  EXPECT_THAT(table.OnPolled(kActivity, &stale, kStart), IsEmpty());
  const auto ended = table.EndOverdue(kStart + seconds(1));
  EXPECT_THAT(EndsOf(ended), ElementsAre(End(1, WaitEnd::kDeadline)));
  EXPECT_EQ(*ended[0].text, "ended");
}

TEST(WaitTableTest, AtItsDeadlineAWaitEndsWithTheNewestReading) {
  WaitTable table(OptionsOf());
  Begin(table, 1, kActivity, kStart, kStart + seconds(3));
  Begin(table, 2, kActivity, kStart, kStart + seconds(9));
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const ActivityReport report = Pending(kActivity, "with one vote");
  table.OnPolled(kActivity, &report, kStart + seconds(2));
  EXPECT_EQ(table.next(), kStart + seconds(3));
  EXPECT_THAT(table.EndOverdue(kStart + milliseconds(2999)), IsEmpty());
  const auto ended = table.EndOverdue(kStart + seconds(3));
  EXPECT_THAT(EndsOf(ended), ElementsAre(End(1, WaitEnd::kDeadline)));
  EXPECT_EQ(*ended[0].text, "with one vote");
  EXPECT_THAT(EndsOf(table.EndOverdue(kStart + seconds(9))), ElementsAre(End(2, WaitEnd::kDeadline)));
  EXPECT_FALSE(table.needs_events());
}

TEST(WaitTableTest, ALargePendingActivityIsNotStored) {
  WaitTable table(OptionsOf());
  Begin(table, 1, kActivity, kStart, kStart + seconds(3));
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const ActivityReport report = Pending(kActivity, std::string(WaitTable::kMaxPendingBytes + 1, 'x'));
  table.OnPolled(kActivity, &report, kStart + seconds(2));
  EXPECT_EQ(table.EndOverdue(kStart + seconds(3))[0].text, nullptr);
}

TEST(WaitTableTest, BeyondTheLimitACallDoesNotWait) {
  WaitTable table(OptionsOf(/*max_waiting=*/2));
  Begin(table, 1);
  Begin(table, 2);
  table.Announce();
  const auto ended = table.Begin(3, "a", 1, kActivity, false, kStart + kLong, kStart);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->end, WaitEnd::kFull);
  EXPECT_EQ(ended->text, nullptr);
  EXPECT_TRUE(table.Remove(1));
  Begin(table, 4);
}

// Returns how many waits have ended, by caller and end. The callers begin waits in turns, each as often as `demands`
// states, and the waits end only for want of a slot.
std::map<std::pair<std::string, WaitEnd>, int> EndsAfter(
    WaitTable& table, const std::vector<std::tuple<std::string, double, int>>& demands) {
  std::map<std::pair<std::string, WaitEnd>, int> ends;
  std::map<WaitTable::WaitId, std::string> callers;
  WaitTable::WaitId wait = 0;
  for (int round = 0, more = 1; more > 0; ++round) {
    more = 0;
    for (const auto& [caller, weight, count] : demands) {
      if (round >= count) continue;
      ++more;
      callers[++wait] = caller;
      table.Announce();
      const auto ended = table.Begin(wait, caller, weight, {"o", absl::StrCat(wait)}, false, kStart + kLong, kStart);
      if (ended.has_value()) ++ends[{callers[ended->wait], ended->end}];
    }
  }
  return ends;
}

TEST(WaitTableTest, ACallerAloneMayUseAllPlaces) {
  WaitTable table(OptionsOf(/*max_waiting=*/100));
  EXPECT_THAT(EndsAfter(table, {{"a", 1, 120}}), ElementsAre(std::pair(std::pair("a", WaitEnd::kFull), 20)));
  EXPECT_EQ(table.waiting(), 100u);
}

TEST(WaitTableTest, ACallerWithinItsShareWaitsAlthoughAnotherOneUsesAllPlaces) {
  WaitTable table(OptionsOf(/*max_waiting=*/100));
  for (WaitTable::WaitId wait = 1; wait <= 100; ++wait) Begin(table, wait, {"o", absl::StrCat(wait)});
  // The other caller loses its newest waits, until both have the same number.
  for (WaitTable::WaitId wait = 101; wait <= 150; ++wait) {
    table.Announce();
    const auto ended = table.Begin(wait, "b", 1, {"o", absl::StrCat(wait)}, false, kStart + kLong, kStart);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->end, WaitEnd::kFull);
    EXPECT_EQ(ended->wait, 201 - wait);
  }
  for (const auto& [wait, caller] : {std::pair<WaitTable::WaitId, std::string>(151, "b"), {152, "a"}}) {
    table.Announce();
    const auto ended = table.Begin(wait, caller, 1, {"o", absl::StrCat(wait)}, false, kStart + kLong, kStart);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->wait, wait) << "beyond its share";
  }
  EXPECT_EQ(table.waiting(), 100u);
}

TEST(WaitTableTest, AWaitThatGivesUpItsPlaceEndsWithTheNewestReading) {
  WaitTable table(OptionsOf(/*max_waiting=*/2));
  Begin(table, 1, {"o", "a"});
  Begin(table, 2, {"o", "b"});
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const ActivityReport first = Pending({"o", "a"});
  table.OnPolled({"o", "a"}, &first, kStart + seconds(2));
  ASSERT_THAT(table.TakePolls(kStart + milliseconds(2100)), SizeIs(1));
  const ActivityReport second = Pending({"o", "b"}, "with one vote");
  table.OnPolled({"o", "b"}, &second, kStart + milliseconds(2100));
  table.Announce();
  const auto ended = table.Begin(3, "b", 1, {"o", "c"}, false, kStart + kLong, kStart + seconds(3));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->wait, 2u);
  ASSERT_NE(ended->text, nullptr);
  EXPECT_EQ(*ended->text, "with one vote");
  EXPECT_FALSE(table.Remove(2));
}

TEST(WaitTableTest, CallersShareThePlacesByTheirWeights) {
  WaitTable table(OptionsOf(/*max_waiting=*/100));
  auto ends = EndsAfter(table, {{"light", 1, 500}, {"heavy", 3, 500}, {"modest", 1, 10}});
  // 90 slots remain for the two others.
  EXPECT_EQ((ends[{"light", WaitEnd::kFull}]), 500 - 22);
  EXPECT_EQ((ends[{"heavy", WaitEnd::kFull}]), 500 - 68);
  EXPECT_FALSE(ends.contains({"modest", WaitEnd::kFull})) << "within its share";
}

TEST(WaitTableTest, MoreCallersThanPlacesDisplaceNobodyWithoutEnd) {
  WaitTable table(OptionsOf(/*max_waiting=*/3));
  auto ends = EndsAfter(table, {{"a", 1, 9}, {"b", 1, 9}, {"c", 1, 9}, {"d", 1, 9}, {"e", 1, 9}});
  EXPECT_EQ((ends[{"d", WaitEnd::kFull}]), 9);
  EXPECT_EQ((ends[{"e", WaitEnd::kFull}]), 9);
  EXPECT_EQ((ends[{"a", WaitEnd::kFull}]), 8);
  EXPECT_EQ(table.waiting(), 3u);
}

TEST(WaitTableTest, ADrainEndsAllWaitsAndEveryLaterOne) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  Begin(table, 2, {"o", "b"});
  table.Announce();
  EXPECT_THAT(EndsOf(table.Drain()), UnorderedElementsAre(End(1, WaitEnd::kDrain), End(2, WaitEnd::kDrain)));
  EXPECT_EQ(table.Begin(3, "a", 1, kActivity, false, kStart + kLong, kStart)->end, WaitEnd::kDrain);
  EXPECT_EQ(table.waiting(), 0u);
}

TEST(WaitTableTest, AWaitThatIsRemovedLeavesNothing) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  EXPECT_TRUE(table.Remove(1));
  EXPECT_FALSE(table.Remove(1));
  EXPECT_FALSE(table.needs_events());
  EXPECT_EQ(table.next(), WaitTable::Time::max());
  EXPECT_THAT(table.TakePolls(kStart + kLong), IsEmpty());
}

TEST(WaitTableTest, AReadingWhoseWaitsHaveLeftEndsQuietly) {
  WaitTable table(OptionsOf());
  Begin(table, 1);
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  table.Remove(1);
  const ActivityReport report = Completed();
  EXPECT_THAT(table.OnPolled(kActivity, &report, kStart + seconds(3)), IsEmpty());
  EXPECT_THAT(table.TakePolls(kStart + kLong), IsEmpty());
  EXPECT_EQ(table.next(), WaitTable::Time::max());
}

TEST(WaitTableTest, CallsThatComeAndGoDoNotMakeTheGatewayReadMoreOften) {
  WaitTable table(OptionsOf());
  std::vector<WaitTable::Time> reads;
  WaitTable::WaitId wait = 0;
  for (WaitTable::Time now = kStart; now < kStart + seconds(60); now += milliseconds(50)) {
    Begin(table, ++wait, kActivity, now, now + kLong, /*urgent=*/true);
    for ([[maybe_unused]] const WaitTable::Poll& poll : table.TakePolls(now)) {
      reads.push_back(now);
      table.OnPolled(kActivity, nullptr, now);
    }
    table.Remove(wait);
  }
  ASSERT_GT(reads.size(), 20u);
  for (size_t i = 1; i < reads.size(); ++i) EXPECT_GE(reads[i] - reads[i - 1], seconds(2));
}

TEST(WaitTableTest, NoMoreReadingsAreInProgressThanAllowed) {
  WaitTable table(OptionsOf(/*max_waiting=*/100, /*polls_per_second=*/1'000'000));
  for (WaitTable::WaitId wait = 1; wait <= 20; ++wait) Begin(table, wait, {"o", absl::StrCat(wait)});
  size_t begun = 0;
  for (int i = 0; i < 100; ++i) begun += table.TakePolls(kStart + seconds(2) + milliseconds(i)).size();
  EXPECT_EQ(begun, 8u);
  table.OnPolled({"o", "1"}, nullptr, kStart + seconds(3));
  EXPECT_THAT(table.TakePolls(kStart + seconds(3)), SizeIs(1));
}

// No reading of one caller ends.
TEST(WaitTableTest, TheReadingsInProgressOfOneCallerDoNotStopThoseOfAnother) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/1'000'000));
  for (WaitTable::WaitId wait = 1; wait <= 100; ++wait) Begin(table, wait, {"o", absl::StrCat(wait)});
  WaitTable::Time now = kStart + seconds(2);
  // Returns the readings that begin within a tenth of a second.
  const auto begin = [&] {
    std::vector<ActivityName> begun;
    for (int i = 0; i < 100; ++i) {
      for (const WaitTable::Poll& poll : table.TakePolls(now += milliseconds(1))) begun.push_back(poll.activity);
    }
    return begun;
  };
  const std::vector<ActivityName> of_a = begin();
  EXPECT_THAT(of_a, SizeIs(8)) << "a caller alone may use all";
  EXPECT_GT(table.next(), now + seconds(60)) << "the deadlines";
  for (WaitTable::WaitId wait = 101; wait <= 120; ++wait) {
    Begin(table, wait, {"o", absl::StrCat(wait)}, now, now + kLong, /*urgent=*/true, "b");
  }
  EXPECT_LE(table.next(), now + milliseconds(1));
  const std::vector<ActivityName> of_b = begin();
  EXPECT_THAT(of_b, SizeIs(4)) << "beside another caller, half of them";
  EXPECT_GT(table.next(), now + seconds(60));
  Begin(table, 121, {"o", "121"}, now, now + kLong, /*urgent=*/true, "c");
  EXPECT_THAT(begin(), ElementsAre(ActivityName("o", "121")));
  // The readings of a caller that has left still count, and are forgotten when they end.
  for (WaitTable::WaitId wait = 101; wait <= 120; ++wait) table.Remove(wait);
  for (const ActivityName& activity : of_b) table.OnPolled(activity, nullptr, now);
  EXPECT_THAT(begin(), IsEmpty());
  for (const ActivityName& activity : of_a) table.OnPolled(activity, nullptr, now);
  EXPECT_THAT(begin(), SizeIs(7));
}

// Nine hundred calls of one caller wait, and two readings may begin in a second.
TEST(WaitTableTest, TheWaitsOfOneCallerDoNotDelayTheReadingsOfAnother) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/2));
  for (WaitTable::WaitId wait = 1; wait <= 900; ++wait) Begin(table, wait, {"o", absl::StrCat(wait)});
  const WaitTable::Time begun = kStart + seconds(60);
  std::optional<WaitTable::Time> ended;
  std::set<ActivityName> reads;
  for (WaitTable::Time now = kStart; now < kStart + seconds(120); now += milliseconds(100)) {
    if (now == begun) Begin(table, 1000, {"o", "of b"}, now, now + kLong, /*urgent=*/false, "b");
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      reads.insert(poll.activity);
      const ActivityReport report = poll.wait == 1000 ? Completed(poll.activity) : Pending(poll.activity);
      if (!table.OnPolled(poll.activity, &report, now).empty()) ended = now;
    }
  }
  ASSERT_TRUE(ended.has_value());
  EXPECT_GE(*ended, begun + seconds(2)) << "the first reading is due";
  EXPECT_LE(*ended, begun + milliseconds(2500)) << "the next reading";
  EXPECT_GT(reads.size(), 230u) << "the caller with many waits uses the rest";
}

TEST(WaitTableTest, CallersTakeTurnsWhateverTheNumbersOfTheirWaits) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/10));
  WaitTable::WaitId wait = 0;
  const std::map<std::string, int> waits = {{"a", 500}, {"b", 50}, {"c", 50}};
  std::map<WaitTable::WaitId, std::string> callers;
  for (const auto& [caller, count] : waits) {
    for (int i = 0; i < count; ++i) {
      callers[++wait] = caller;
      Begin(table, wait, {"o", absl::StrCat(wait)}, kStart, kStart + kLong, /*urgent=*/true, caller);
    }
  }
  std::map<std::string, int> reads;
  for (WaitTable::Time now = kStart; now < kStart + seconds(6); now += milliseconds(100)) {
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      ++reads[callers[poll.wait]];
      table.OnPolled(poll.activity, nullptr, now);
    }
  }
  EXPECT_THAT(reads, UnorderedElementsAre(std::pair("a", 20), std::pair("b", 20), std::pair("c", 20)));
}

TEST(WaitTableTest, ACallerGetsReadingsByItsWeight) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/10));
  for (WaitTable::WaitId wait = 1; wait <= 300; ++wait) {
    const bool heavy = wait % 3 == 0;
    Begin(table, wait, {"o", absl::StrCat(wait)}, kStart, kStart + kLong, /*urgent=*/true, heavy ? "heavy" : "light",
          heavy ? 4 : 1);
  }
  std::map<bool, int> reads;
  for (WaitTable::Time now = kStart; now < kStart + seconds(6); now += milliseconds(100)) {
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      ++reads[poll.wait % 3 == 0];
      table.OnPolled(poll.activity, nullptr, now);
    }
  }
  EXPECT_NEAR(reads[true], 48, 1);
  EXPECT_NEAR(reads[false], 12, 1);
}

// A caller that ends each wait after its first reading, and begins another one, is not always the next.
TEST(WaitTableTest, ACallerThatComesAgainHasNoPriority) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/10));
  for (WaitTable::WaitId wait = 1; wait <= 100; ++wait) {
    Begin(table, wait, {"o", absl::StrCat(wait)}, kStart, kStart + kLong, /*urgent=*/true, wait % 2 == 0 ? "a" : "b");
  }
  WaitTable::WaitId last = 1000;
  Begin(table, last, {"o", absl::StrCat(last)}, kStart, kStart + kLong, /*urgent=*/true, "c");
  std::map<bool, int> reads;
  for (WaitTable::Time now = kStart; now < kStart + seconds(6); now += milliseconds(100)) {
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      ++reads[poll.wait >= 1000];
      table.OnPolled(poll.activity, nullptr, now);
      if (poll.wait < 1000) continue;
      table.Remove(last++);
      Begin(table, last, {"o", absl::StrCat(last)}, now, now + kLong, /*urgent=*/true, "c");
    }
  }
  EXPECT_EQ(reads[false], 40);
  EXPECT_EQ(reads[true], 20);
}

// Another caller waits for the same activity first, and has many waits.
TEST(WaitTableTest, AReadingForCallsOfTwoCallersComesInTheTurnOfEither) {
  WaitTable table(OptionsOf(/*max_waiting=*/1000, /*polls_per_second=*/2));
  for (WaitTable::WaitId wait = 1; wait <= 100; ++wait) Begin(table, wait, {"o", absl::StrCat(wait)});
  Begin(table, 101, kActivity);
  Begin(table, 102, kActivity, kStart, kStart + kLong, /*urgent=*/false, "b");
  ASSERT_THAT(table.TakePolls(kStart + seconds(2)), SizeIs(1));
  const auto second = table.TakePolls(kStart + milliseconds(2500));
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].activity, kActivity);
  EXPECT_EQ(second[0].wait, 102u) << "with the key of the caller whose turn it is";
  const ActivityReport report = Completed();
  EXPECT_THAT(EndsOf(table.OnPolled(kActivity, &report, kStart + milliseconds(2500))),
              ElementsAre(End(101, WaitEnd::kPoll), End(102, WaitEnd::kPoll)));
}

// 10,000 calls wait for 5,000 activities for ten minutes, and no event arrives.
TEST(WaitTableTest, TenThousandWaitsKeepTheRateOfReadings) {
  WaitTable table(OptionsOf(/*max_waiting=*/10'000, /*polls_per_second=*/50));
  for (WaitTable::WaitId wait = 1; wait <= 10'000; ++wait) Begin(table, wait, {"o", absl::StrCat(wait % 5'000)});
  std::map<ActivityName, std::vector<WaitTable::Time>> reads;
  std::map<int64_t, int> by_second;
  std::mt19937 random(1);
  std::vector<std::pair<WaitTable::Time, ActivityName>> in_flight;
  for (WaitTable::Time now = kStart; now < kStart + seconds(600); now += milliseconds(10)) {
    std::erase_if(in_flight, [&](const auto& each) {
      if (each.first > now) return false;
      const ActivityReport report = Pending(each.second);
      table.OnPolled(each.second, random() % 3 == 0 ? nullptr : &report, now);
      return true;
    });
    for (const WaitTable::Poll& poll : table.TakePolls(now)) {
      reads[poll.activity].push_back(now);
      ++by_second[now.time_since_epoch() / seconds(1)];
      in_flight.emplace_back(now + milliseconds(random() % 200), poll.activity);
    }
  }
  EXPECT_THAT(reads, SizeIs(5'000)) << "an activity was never read";
  for (const auto& [second, count] : by_second) EXPECT_LE(count, 50);
  for (const auto& [activity, times] : reads) {
    for (size_t i = 1; i < times.size(); ++i) ASSERT_GE(times[i] - times[i - 1], seconds(2));
  }
}

}  // namespace
}  // namespace stampgate
