#include "gateway/store/call_row.h"

#include <string>

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

}  // namespace

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
