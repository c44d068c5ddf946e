// Messages and JSON generated from a plan: full ones for tests of every field, random ones for property tests. Equal
// seeds give equal values.
#ifndef STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_
#define STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_

#include <cstdint>
#include <random>
#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"
#include "translate/testing/json_dom.h"

namespace stampgate::testing {

using Random = std::mt19937_64;

inline size_t Below(Random& random, size_t n) { return random() % n; }
inline bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

// Short UTF-8 text, often with characters that need special treatment.
std::string RandomText(Random& random);

// An integer of `bits` bits, often near an end of the range.
uint64_t RandomInteger(Random& random, int bits);

// Any JSON value, `depth` levels deep at most.
Json RandomJson(Random& random, int depth);

// Sets every field of `message` to a valid value that is not empty, and gives every list one element. Of mutually
// exclusive fields it sets the one with index `choice` (modulo their number).
void FillFully(google::protobuf::Message& message, const MessagePlan& plan, int choice = 0);

// Sets a random choice of fields to random values that JSON can hold. They need not be valid.
void FillRandomly(google::protobuf::Message& message, const MessagePlan& plan, Random& random, int depth = 4);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_
