// Which consumer of a shared subscription gets which event next.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_DISPATCHER_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_DISPATCHER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "webhooks/log/event_log.h"

namespace stampgate {

// Knows how many events each consumer holds, and which events can be sent now: to any consumer, or only to the one that
// holds earlier events of the same key. Of several consumers that can receive an event, the one with the most places
// gets it; of several such consumers, the one that has waited the longest. Not thread-safe.
class Dispatcher {
 public:
  using ConsumerId = uint64_t;

  // An event that a consumer gets.
  struct Turn {
    ConsumerId consumer = 0;
    Position position = 0;
  };

  // Adds a consumer that gets no event while it holds `max_held` events or more. It gets none until SetReceiving.
  ConsumerId AddConsumer(size_t max_held);
  // The consumer must hold no events, and none may be offered to it alone.
  void RemoveConsumer(ConsumerId id);

  // Whether the consumer can receive events now. EndRound resets this for each consumer that got some.
  void SetReceiving(ConsumerId id, bool receives);
  // The consumer holds so many events more, or fewer.
  void AddHeld(ConsumerId id, int64_t count);

  // Offers an event to one consumer, or to any if `to` is zero.
  void Offer(Position position, ConsumerId to);
  // Takes back an offer, to any consumer or to this one.
  void Withdraw(Position position, ConsumerId to);
  // Whether an event is offered to any consumer.
  bool HasFree() const { return !free_.empty(); }

  // Returns how many events more the consumers that receive now can hold, but at most `most`.
  size_t Places(size_t most) const;

  // In a round, no consumer gets more than `max_each` events, and each gets `in_a_row` events before the next one.
  void BeginRound(size_t max_each, size_t in_a_row);
  // Returns the next event with its consumer. The caller must withdraw the offer, and add the event to those that the
  // consumer holds.
  std::optional<Turn> Next();
  void EndRound();

 private:
  // Orders consumers with places: the first one gets the next event.
  struct Hunger {
    size_t places = 0;
    uint64_t latest_turn = 0;
    ConsumerId consumer = 0;

    bool operator<(const Hunger& other) const {
      return std::tie(other.places, latest_turn, consumer) < std::tie(places, other.latest_turn, other.consumer);
    }
    bool operator==(const Hunger&) const = default;
  };

  struct Consumer {
    size_t max_held = 0;
    size_t held = 0;
    size_t in_round = 0;  // how many events it got in this round
    bool receives = false;
    std::set<Position> own;  // the events that are offered to it alone
    uint64_t latest_turn = 0;
    std::optional<Hunger> hunger;    // its entry in hungry_
    bool is_ranked_for_own = false;  // whether hungry_for_own_ has it
  };

  // Brings the consumer's entries in the hungry ones up to date.
  void Rank(ConsumerId id);

  std::map<ConsumerId, Consumer> consumers_;
  ConsumerId last_consumer_ = 0;
  std::set<Position> free_;              // the events that are offered to any consumer
  std::set<Hunger> hungry_;              // the consumers with places
  std::set<ConsumerId> hungry_for_own_;  // of these, the consumers to which an event is offered alone

  // Of the round.
  size_t max_each_ = 0;
  size_t in_a_row_ = 1;
  size_t given_ = 0;
  ConsumerId latest_ = 0;           // got the latest event
  std::vector<ConsumerId> served_;  // got events

  uint64_t turns_ = 0;  // of all rounds
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_DISPATCHER_H_
