// Generates messages and JSON from a plan: messages with all fields set, for tests of every field, and random ones, for
// property tests. Equal seeds give equal values.
#ifndef STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_
#define STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_

#include <cstdint>
#include <random>
#include <string>

#include "google/protobuf/message.h"
#include "translate/message/plan.h"
#include "translate/testing/json_dom.h"

namespace stampgate::testing {

using Random = std::mt19937_64;

inline size_t Below(Random& random, size_t n) { return random() % n; }
inline bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

// Returns a short UTF-8 text, often with characters that JSON must escape or that are easily mistreated.
std::string RandomText(Random& random);

// Returns up to six bytes.
std::string RandomBytes(Random& random);

// Returns an integer of at most `bits` bits, often one near the minimum or maximum.
uint64_t RandomInteger(Random& random, int bits);

// Returns a random JSON value that is nested at most `depth` levels deep.
Json RandomJson(Random& random, int depth);

// Sets every field of `message` to a valid value that is not empty, and gives every list one element. Of mutually
// exclusive fields, sets only the one with the index `choice` (modulo their number). Of a member that upstream has
// renamed, sets only the oldest name.
void FillFully(google::protobuf::Message& message, const MessagePlan& plan, int choice = 0);

// Sets randomly chosen fields to random values that JSON can represent. The values may break the rules of the fields.
// Omits members that upstream has renamed: a reader sets each name of such a member.
void FillRandomly(google::protobuf::Message& message, const MessagePlan& plan, Random& random, int depth = 4);

// Orders the entries of the maps in `message` by key, and keeps the last entry of each key, as the deterministic
// serialization of Protocol Buffers does. This serialization leaves the entries of a message without a generated class
// as they are.
void OrderMaps(google::protobuf::Message& message, const MessagePlan& plan);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_MESSAGES_H_
