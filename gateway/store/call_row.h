// The row of an idempotency key, and the rules by which attempts change it.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
#define STAMPGATE_GATEWAY_STORE_CALL_ROW_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Returns an end with this kind and no details.
inline AttemptEnd EndOfKind(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

struct CallRow {
  int64_t number = 0;         // each newly stored submit gets a new, higher number
  int64_t stored_age_us = 0;  // the age of the store when the submit was stored, see AgeClock
  KeyedSubmit submit;
  // The number of attempts that have begun and have not ended as kNotSent, kRefused or kDone.
  int64_t open_attempts = 0;
  // The combined end of all other attempts: kDone if one of them ended as kDone, otherwise the last kRefused if there
  // is one, otherwise kNotSent.
  AttemptEnd best_end = EndOfKind(AttemptEnd::Kind::kNotSent);
};

// Returns whether `a` and `b` have the same request, body and timestamp.
bool IsSameSubmit(const KeyedSubmit& a, const KeyedSubmit& b);

// Returns whether it is certain that no attempt has sent anything. Only then may the key get another body.
bool NothingWasSent(const CallRow& row);

// What a store knows when it decides about a submit.
struct CallStoreView {
  int64_t age_us = 0;  // the age of the store, see AgeClock
  absl::Duration key_retention;
  // How long the store still does not trust itself to be complete. Zero if it does.
  absl::Duration until_trusted;
  bool row_is_distrusted = false;  // whether the row was stored before the store lost data
  // Whether the maximum number of keys is stored, and the submit's caller has its share of them: see KeyShares.
  bool is_full = false;
  int64_t next_number = 0;  // the number of a new row
};

// What a store does for one submit: it gives `answer`, and before that stores `row`, if it is set. See
// CallStore::Begin.
struct CallDecision {
  absl::StatusOr<CallStore::Begun> answer = CallStore::Begun();
  std::optional<CallRow> row;
  bool is_new_key = false;

  static CallDecision Record(KeyRecord record);
  static CallDecision Attempt(CallRow row, bool is_new_key);
};

// Decides about `submit`, whose key has the row `row`, or no row if `row` is null. In the answer, Begun::attempt
// contains the number of the row.
CallDecision DecideCall(const KeyedSubmit& submit, const CallRow* row, const CallStoreView& view);

// Applies the end of an attempt to the row. Truncates each text to kMaxEndTextBytes, at the end of a UTF-8 character.
inline constexpr size_t kMaxEndTextBytes = 256;
void EndAttempt(const AttemptEnd& end, CallRow* row);

KeyRecord RecordOf(const CallRow& row);

// Returns the record of a row that is possibly outdated, because a copy was restored or data was lost. The outcome
// kDone is true even in an outdated row. Any other outcome becomes kUnknown, because a lost attempt has possibly led to
// an activity.
KeyRecord RecordOfDistrusted(const CallRow& row);

// Returns the record for a damaged row, whose body is unknown. The record has the request of the submit `asked`, and
// the outcome kUnknown, so that the gateway sends nothing.
KeyRecord RecordOfDamaged(const KeyedSubmit& asked);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_ROW_H_
