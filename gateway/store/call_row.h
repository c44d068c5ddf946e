// The row of an idempotency key, and the rules by which attempts change it.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
#define STAMPGATE_GATEWAY_STORE_CALL_ROW_H_

#include <cstdint>

#include "gateway/store/call_store.h"

namespace stampgate {

// An end of which only the kind is known.
inline AttemptEnd EndOfKind(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

struct CallRow {
  int64_t number = 0;         // increases each time a key gets a submit
  int64_t stored_age_us = 0;  // when it got the submit, by the store's AgeClock
  KeyedSubmit submit;
  // Attempts that have begun and have not ended in kNotSent, kRefused or kDone.
  int64_t open_attempts = 0;
  // The best end of the other attempts; kNotSent if there is none. Never kUnknown.
  AttemptEnd best_end = EndOfKind(AttemptEnd::Kind::kNotSent);
};

// Whether request, body and timestamp are equal.
bool IsSameSubmit(const KeyedSubmit& a, const KeyedSubmit& b);

// Whether the key may get another body, because certainly no attempt has sent anything.
bool NothingWasSent(const CallRow& row);

// Applies the end of an attempt to the row. Cuts texts to kMaxEndTextBytes, between characters.
inline constexpr size_t kMaxEndTextBytes = 256;
void EndAttempt(const AttemptEnd& end, CallRow* row);

KeyRecord RecordOf(const CallRow& row);

// The record of a row that may be older than what was stored last: an activity stays one, but any other outcome may
// have become an activity since.
KeyRecord RecordOfDistrusted(const CallRow& row);

// The record of a damaged row: the request that was asked for, with an unknown outcome, because nothing may be sent and
// the body is unknown.
KeyRecord RecordOfDamaged(const KeyedSubmit& asked);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
