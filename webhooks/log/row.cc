#include "webhooks/log/row.h"

#include "stamp/secret/sha256.h"
#include "webhooks/disk/big_endian.h"

namespace stampgate {
namespace {

void AddNumber(int64_t number, std::string* bytes) {
  const std::array<char, 8> encoded = ToBigEndian(static_cast<uint64_t>(number));
  bytes->append(encoded.data(), encoded.size());
}

void AddText(absl::string_view text, std::string* bytes) {
  AddNumber(static_cast<int64_t>(text.size()), bytes);
  bytes->append(text.data(), text.size());
}

std::optional<absl::string_view> TakeText(absl::string_view* bytes) {
  if (bytes->size() < 8) return std::nullopt;
  const uint64_t size = FromBigEndian(bytes->data());
  bytes->remove_prefix(8);
  if (size > bytes->size()) return std::nullopt;
  const absl::string_view text = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return text;
}

}  // namespace

Digest ChecksumOf(absl::string_view log_id, const EventRow& row) {
  std::string bytes;
  bytes.reserve(512 + row.headers.size());
  AddText(log_id, &bytes);
  for (int64_t number : {row.position, row.commit_us, row.timestamp_ms}) AddNumber(number, &bytes);
  for (absl::string_view text : {row.event_id, row.organization_id, row.parent_organization_id, row.type, row.key_id,
                                 row.signature, row.headers, row.body_sha256}) {
    AddText(text, &bytes);
  }
  if (!row.previous.empty()) AddText(row.previous, &bytes);
  return Sha256(bytes);
}

std::string EncodeHeaders(const std::vector<HeaderField>& headers) {
  std::string bytes;
  for (const HeaderField& header : headers) {
    AddText(header.name, &bytes);
    AddText(header.value, &bytes);
  }
  return bytes;
}

std::optional<std::vector<HeaderField>> DecodeHeaders(absl::string_view bytes) {
  std::vector<HeaderField> headers;
  while (!bytes.empty()) {
    const std::optional<absl::string_view> name = TakeText(&bytes);
    if (!name) return std::nullopt;
    const std::optional<absl::string_view> value = TakeText(&bytes);
    if (!value) return std::nullopt;
    headers.push_back({std::string(*name), std::string(*value)});
  }
  return headers;
}

}  // namespace stampgate
