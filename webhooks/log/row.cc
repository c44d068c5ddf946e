#include "webhooks/log/row.h"

#include <algorithm>
#include <utility>

#include "base/disk/big_endian.h"
#include "base/secret/sha256.h"

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

template <size_t kSize>
void CopyBytes(absl::string_view bytes, std::array<uint8_t, kSize>* array) {
  std::copy_n(bytes.begin(), std::min(bytes.size(), kSize), array->begin());
}

}  // namespace

std::string EncodeContent(const EventRow& row) {
  std::string bytes;
  bytes.reserve(512 + row.headers.size());
  AddNumber(row.timestamp_ms, &bytes);
  for (absl::string_view text : {row.event_id, row.organization_id, row.parent_organization_id, row.type, row.key_id,
                                 row.signature, row.headers, row.body_sha256}) {
    AddText(text, &bytes);
  }
  return bytes;
}

Digest ChecksumOf(absl::string_view log_id, const EventRow& row) {
  std::string bytes;
  bytes.reserve(512 + row.headers.size());
  AddText(log_id, &bytes);
  for (int64_t number : {row.position, row.commit_us}) AddNumber(number, &bytes);
  bytes += EncodeContent(row);
  if (!row.previous.empty()) AddText(row.previous, &bytes);
  return Sha256(bytes);
}

EventRow RowOf(const Event& event, absl::string_view headers) {
  EventRow row;
  row.event_id = event.event_id;
  row.organization_id = event.organization_id;
  row.parent_organization_id = event.parent_organization_id;
  row.type = event.type;
  row.key_id = event.key_id;
  row.timestamp_ms = event.timestamp_ms;
  row.signature = absl::string_view(reinterpret_cast<const char*>(event.signature.data()), event.signature.size());
  row.headers = headers;
  row.body_sha256 = AsText(event.body_sha256);
  return row;
}

std::optional<LoggedEvent> EventOf(const EventRow& row, const Digest& digest, std::string body) {
  std::optional<std::vector<HeaderField>> headers = DecodeHeaders(row.headers);
  if (!headers) return std::nullopt;
  LoggedEvent logged;
  logged.position = row.position;
  logged.digest = digest;
  logged.commit_time = absl::FromUnixMicros(row.commit_us);
  Event& event = logged.event;
  event.event_id = std::string(row.event_id);
  event.key_id = std::string(row.key_id);
  event.timestamp_ms = row.timestamp_ms;
  CopyBytes(row.signature, &event.signature);
  event.body = std::move(body);
  event.organization_id = std::string(row.organization_id);
  event.parent_organization_id = std::string(row.parent_organization_id);
  event.type = std::string(row.type);
  CopyBytes(row.body_sha256, &event.body_sha256);
  event.headers = *std::move(headers);
  return logged;
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
