// What the store keeps of a key, and the rules by which attempts change it.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
#define STAMPGATE_GATEWAY_STORE_CALL_ROW_H_

#include <cstdint>

#include "gateway/store/call_store.h"

namespace stampgate {

// An end of which nothing but its kind is known.
inline AttemptEnd EndOfKind(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

struct CallRow {
  int64_t number = 0;         // counts up each time that a key takes a submit
  int64_t stored_age_us = 0;  // when it did, by the store's AgeClock
  KeyedSubmit submit;
  // Attempts that have begun and have not ended in kNotSent, kRefused or kDone.
  int64_t open_attempts = 0;
  // The best of the ends of the others; kNotSent if there is none. Never kUnknown.
  AttemptEnd best_end = EndOfKind(AttemptEnd::Kind::kNotSent);
};

// Whether request, body and timestamp are the same.
bool IsSameSubmit(const KeyedSubmit& a, const KeyedSubmit& b);

// Whether the key may take another body: for certain no attempt has sent anything.
bool NothingWasSent(const CallRow& row);

// An attempt of the row ends. Texts are cut to kMaxEndTextBytes, between characters.
inline constexpr size_t kMaxEndTextBytes = 256;
void EndAttempt(const AttemptEnd& end, CallRow* row);

KeyRecord RecordOf(const CallRow& row);

// What a row is good for that may be older than what was stored last: an activity is an activity, and anything else may
// have become one since.
KeyRecord RecordOfDistrusted(const CallRow& row);

// What is answered if a row is damaged: an unknown outcome of the very request, because nothing may be sent, and
// nothing is known about the body.
KeyRecord RecordOfDamaged(const KeyedSubmit& asked);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
