#include "gateway/store/postgres/submit_seal.h"

#include "base/disk/big_endian.h"

namespace stampgate {
namespace {

constexpr char kPurpose[] = "stampgate: seals of idempotency keys";

void AddNumber(uint64_t number, std::string& bytes) {
  const std::array<char, 8> encoded = ToBigEndian(number);
  bytes.append(encoded.data(), encoded.size());
}

void AddText(absl::string_view text, std::string& bytes) {
  AddNumber(text.size(), bytes);
  bytes.append(text.data(), text.size());
}

// All columns of the row, each text with its length.
std::string ContentOf(const CallRow& row, int64_t version) {
  std::string bytes;
  for (const int64_t number : {version, row.number, row.stored_age_us, row.open_attempts,
                               static_cast<int64_t>(row.best_end.kind), static_cast<int64_t>(row.best_end.code)}) {
    AddNumber(static_cast<uint64_t>(number), bytes);
  }
  AddNumber(row.submit.timestamp_ms, bytes);
  for (const auto& digest : {row.submit.request_sha256, row.submit.body_sha256})
    bytes.append(digest.begin(), digest.end());
  for (const std::string& text : {row.submit.caller, row.submit.key, row.best_end.domain, row.best_end.reason,
                                  row.best_end.activity_id, row.best_end.activity_status}) {
    AddText(text, bytes);
  }
  return bytes;
}

}  // namespace

SubmitSeals::SubmitSeals(const SecretBytes& store_key) : seals_(store_key.data(), kPurpose) {}

std::string SubmitSeals::Make(const CallRow& row, int64_t version) const {
  return seals_.Make(ContentOf(row, version));
}

bool SubmitSeals::IsValid(absl::string_view seal, const CallRow& row, int64_t version) const {
  return seals_.IsValid(seal, ContentOf(row, version));
}

}  // namespace stampgate
