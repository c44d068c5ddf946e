#include "gateway/feed/tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kEventBytes = 100;

std::vector<std::shared_ptr<const EncodedEvent>> Events(Position first, Position last) {
  std::vector<std::shared_ptr<const EncodedEvent>> events;
  for (Position position = first; position <= last; ++position) {
    EncodedEvent event;
    event.position = position;
    event.type = position % 2 == 0 ? "even" : "odd";
    event.field = grpc::Slice(std::string(kEventBytes, 'x'));
    events.push_back(std::make_shared<const EncodedEvent>(std::move(event)));
  }
  return events;
}

std::vector<Position> PositionsOf(const EventPage& page) {
  std::vector<Position> positions;
  for (const auto& event : page.events) positions.push_back(event->position);
  return positions;
}

TEST(EventTailTest, AReadOutsideOfTheWindowFindsNothing) {
  EventTail tail(1 << 20);
  EventPage page;
  EXPECT_FALSE(tail.Read({0}, {}, {}, page));
  tail.Add({2}, Events(3, 6), 6);
  EXPECT_FALSE(tail.Read({1}, {}, {}, page)) << "event 2 is not in the window";
  EXPECT_FALSE(tail.Read({6}, {}, {}, page)) << "there is no event after 6";
  EXPECT_FALSE(tail.Read({9}, {}, {}, page));
  ASSERT_TRUE(tail.Read({2}, {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(page.through.position, 6);
}

TEST(EventTailTest, TheWindowIsConsecutive) {
  EventTail tail(1 << 20);
  tail.Add({2}, Events(3, 4), 9);
  EventPage page;
  EXPECT_FALSE(tail.Read({2}, {}, {}, page)) << "the events are not at the log's end, so only one reader needs them";
  tail.Add({2}, Events(3, 6), 6);
  tail.Add({4}, Events(5, 8), 8);
  ASSERT_TRUE(tail.Read({2}, {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(3, 4, 5, 6, 7, 8));
  tail.Add({9}, Events(10, 11), 12);
  page = {};
  ASSERT_TRUE(tail.Read({7}, {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(8)) << "event 9 is missing, so events 10 and 11 are ignored";
  tail.Add({19}, Events(20, 21), 21);
  page = {};
  EXPECT_FALSE(tail.Read({7}, {}, {}, page));
  ASSERT_TRUE(tail.Read({19}, {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(20, 21));
}

TEST(EventTailTest, NewEventsReplaceTheOldest) {
  EventTail tail(3 * kEventBytes);
  tail.Add({0}, Events(1, 5), 5);
  EventPage page;
  EXPECT_FALSE(tail.Read({1}, {}, {}, page));
  ASSERT_TRUE(tail.Read({2}, {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(3, 4, 5));
}

TEST(EventTailTest, AFilteredPageStillMovesThePlace) {
  EventTail tail(1 << 20);
  tail.Add({0}, Events(1, 5), 5);
  EventPage page;
  ASSERT_TRUE(tail.Read({0}, {.organization_ids = {}, .types = {"even"}}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(2, 4));
  EXPECT_EQ(page.through.position, 5);
  page = {};
  ASSERT_TRUE(tail.Read({0}, {.organization_ids = {}, .types = {"none"}}, {}, page));
  EXPECT_THAT(page.events, IsEmpty());
  EXPECT_EQ(page.through.position, 5);
}

TEST(EventTailTest, APageEndsBeforeAnEventThatDoesNotFit) {
  EventTail tail(1 << 20);
  tail.Add({0}, Events(1, 9), 9);
  EventPage page;
  ASSERT_TRUE(tail.Read({0}, {}, {.max_events = 3, .max_bytes = 1 << 20}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(1, 2, 3));
  EXPECT_EQ(page.through.position, 3);
  page = {};
  ASSERT_TRUE(tail.Read({3}, {}, {.max_events = 9, .max_bytes = 2 * kEventBytes}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(4, 5));
  page = {};
  ASSERT_TRUE(tail.Read({5}, {}, {.max_events = 9, .max_bytes = 1}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(6)) << "a page has one event, however large the event is";
}

// Two histories of a log: a failover has lost the events from 3 on, and others have got their positions.
std::vector<std::shared_ptr<const EncodedEvent>> EventsOf(uint8_t history, Position first, Position last) {
  std::vector<std::shared_ptr<const EncodedEvent>> events;
  for (const auto& event : Events(first, last)) {
    EncodedEvent copy = *event;
    copy.digest[0] = event->position < 3 ? 1 : history;
    copy.digest[1] = static_cast<uint8_t>(event->position);
    events.push_back(std::make_shared<const EncodedEvent>(std::move(copy)));
  }
  return events;
}
LogPoint PointIn(uint8_t history, Position position) {
  return {position, EventsOf(history, position, position)[0]->digest};
}

TEST(EventTailTest, AReaderOfAnotherHistoryFindsNothing) {
  EventTail tail(1 << 20);
  tail.Add(PointIn(1, 1), EventsOf(1, 2, 5), 5);
  EventPage page;
  EXPECT_FALSE(tail.Read(PointIn(2, 3), {}, {}, page));
  EXPECT_FALSE(tail.Read(PointIn(2, 4), {}, {}, page));
  ASSERT_TRUE(tail.Read(PointIn(2, 2), {}, {}, page)) << "both histories have event 2";
  EXPECT_THAT(PositionsOf(page), ElementsAre(3, 4, 5));
  page = {};
  ASSERT_TRUE(tail.Read(PointIn(1, 3), {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(4, 5));
}

TEST(EventTailTest, AReaderWithoutADigestIsOfEachHistory) {
  EventTail tail(1 << 20);
  tail.Add(PointIn(1, 1), EventsOf(1, 2, 5), 5);
  EventPage page;
  EXPECT_TRUE(tail.Read({3}, {}, {}, page)) << "the digest of a damaged event is unknown";
}

TEST(EventTailTest, EventsOfAnotherHistoryReplaceTheWindow) {
  EventTail tail(1 << 20);
  tail.Add(PointIn(1, 3), EventsOf(1, 4, 5), 5);
  tail.Add(PointIn(2, 5), EventsOf(2, 6, 7), 7);
  EventPage page;
  EXPECT_FALSE(tail.Read(PointIn(1, 4), {}, {}, page));
  EXPECT_FALSE(tail.Read(PointIn(1, 5), {}, {}, page));
  ASSERT_TRUE(tail.Read(PointIn(2, 5), {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(6, 7));
}

TEST(EventTailTest, TheFirstPointOfTheWindowHasADigestToo) {
  EventTail tail(2 * kEventBytes);
  tail.Add(PointIn(1, 2), EventsOf(1, 3, 6), 6);  // the window now begins after event 4
  EventPage page;
  EXPECT_FALSE(tail.Read(PointIn(2, 4), {}, {}, page));
  ASSERT_TRUE(tail.Read(PointIn(1, 4), {}, {}, page));
  EXPECT_THAT(PositionsOf(page), ElementsAre(5, 6));
}

}  // namespace
}  // namespace stampgate
