#include "gateway/store/call_row.h"

#include <string>
#include <utility>

namespace stampgate {
namespace {

using Kind = AttemptEnd::Kind;

void Cut(std::string* text) {
  if (text->size() <= kMaxEndTextBytes) return;
  size_t size = kMaxEndTextBytes;
  // The second and later bytes of a UTF-8 character begin with the bits 10.
  while (size > 0 && (static_cast<unsigned char>((*text)[size]) & 0xc0) == 0x80) --size;
  text->resize(size);
}

AttemptEnd Bounded(AttemptEnd end) {
  for (std::string* text : {&end.domain, &end.reason, &end.activity_id, &end.activity_status}) Cut(text);
  return end;
}

CallDecision DecideFound(const KeyedSubmit& submit, CallRow row, const CallStoreView& view) {
  if (view.row_is_distrusted && view.until_trusted > absl::ZeroDuration()) {
    return CallDecision::Record(RecordOfDistrusted(row));
  }
  if (!submit.begins) return CallDecision::Record(RecordOf(row));
  if (IsSameSubmit(submit, row.submit)) {
    ++row.open_attempts;
  } else if (submit.request_sha256 == row.submit.request_sha256 && NothingWasSent(row)) {
    row.number = view.next_number;
    row.stored_age_us = view.age_us;
    row.submit = submit;
    row.open_attempts = 1;
  } else {
    return CallDecision::Record(RecordOf(row));
  }
  return CallDecision::Attempt(std::move(row), /*is_new_key=*/false);
}

}  // namespace

CallDecision CallDecision::Record(KeyRecord record) {
  CallDecision decision;
  decision.answer->record = std::move(record);
  return decision;
}

CallDecision CallDecision::Attempt(CallRow row, bool is_new_key) {
  CallDecision decision;
  decision.answer->attempt = static_cast<CallStore::AttemptId>(row.number);
  decision.row = std::move(row);
  decision.is_new_key = is_new_key;
  return decision;
}

CallDecision DecideCall(const KeyedSubmit& submit, const CallRow* row, const CallStoreView& view) {
  if (row != nullptr && absl::Microseconds(view.age_us - row->stored_age_us) <= view.key_retention) {
    return DecideFound(submit, *row, view);
  }
  CallDecision decision;
  if (view.until_trusted > absl::ZeroDuration()) {
    decision.answer->unknown_until = view.until_trusted;
    return decision;
  }
  if (!submit.begins) return decision;
  if (row == nullptr && view.is_full) {
    decision.answer = absl::ResourceExhaustedError(
        "the maximum number of idempotency keys is stored, and the caller has its share of them");
    return decision;
  }
  CallRow fresh{.number = view.next_number,
                .stored_age_us = view.age_us,
                .submit = submit,
                .open_attempts = 1,
                .best_end = EndOfKind(AttemptEnd::Kind::kNotSent)};
  return CallDecision::Attempt(std::move(fresh), /*is_new_key=*/row == nullptr);
}

bool IsSameSubmit(const KeyedSubmit& a, const KeyedSubmit& b) {
  return a.request_sha256 == b.request_sha256 && a.body_sha256 == b.body_sha256 && a.timestamp_ms == b.timestamp_ms;
}

bool NothingWasSent(const CallRow& row) { return row.open_attempts == 0 && row.best_end.kind == Kind::kNotSent; }

void EndAttempt(const AttemptEnd& end, CallRow* row) {
  if (end.kind == Kind::kUnknown || row->open_attempts == 0) return;
  --row->open_attempts;
  if (end.kind == Kind::kNotSent || row->best_end.kind == Kind::kDone) return;
  row->best_end = Bounded(end);
}

KeyRecord RecordOf(const CallRow& row) {
  KeyRecord record{.request_sha256 = row.submit.request_sha256,
                   .body_sha256 = row.submit.body_sha256,
                   .timestamp_ms = row.submit.timestamp_ms,
                   .outcome = row.best_end};
  if (row.open_attempts > 0 && row.best_end.kind != Kind::kDone) record.outcome = EndOfKind(Kind::kUnknown);
  return record;
}

KeyRecord RecordOfDistrusted(const CallRow& row) {
  KeyRecord record = RecordOf(row);
  if (record.outcome.kind != Kind::kDone) record.outcome = EndOfKind(Kind::kUnknown);
  return record;
}

KeyRecord RecordOfDamaged(const KeyedSubmit& asked) {
  return {.request_sha256 = asked.request_sha256,
          .body_sha256 = {},
          .timestamp_ms = 0,
          .outcome = EndOfKind(Kind::kUnknown)};
}

}  // namespace stampgate
