#include "gateway/audit/later_group.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/json/reader.h"
#include "gateway/audit/read_at.h"
#include "gateway/audit/record.h"

namespace stampgate {
namespace {

constexpr size_t kReadBytes = 256 << 10;

// Every line begins with this text, and no line contains this text elsewhere: inside a JSON string, the quotes would be
// escaped.
constexpr absl::string_view kBegin = "{\"seq\":";

// Returns whether `piece`, given without a line feed, is the first record of a group that was written after record
// `sequence` was on the disk.
bool IsFirstOfLaterGroup(absl::string_view piece, uint64_t sequence, AuditChain& chain) {
  if (!AuditChain::HasForm(piece) || !absl::StrContains(piece, "\"previous_mac\":\"")) return false;
  std::string line;
  line.reserve(piece.size() + kJsonPadding);
  line.append(piece.data(), piece.size());
  const absl::StatusOr<AuditRecord> record = ReadAuditRecord(line);
  if (!record.ok() || record->sequence <= sequence) return false;
  const std::optional<AuditMac> previous = ParseMacHex(record->previous_mac);
  AuditMac mac;
  return previous.has_value() && chain.Follows(line, *previous, &mac);
}

}  // namespace

absl::StatusOr<bool> HoldsLaterGroup(int fd, int64_t from, int64_t to, uint64_t sequence, AuditChain& chain) {
  std::string bytes;  // the bytes that were read, from the beginning of the current candidate for a record
  std::string chunk;
  bool at_end = false;
  while (!at_end) {
    chunk.resize(static_cast<size_t>(std::min<int64_t>(to - from, kReadBytes)));
    ABSL_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, from, chunk.data(), chunk.size()));
    at_end = got == 0;
    from += static_cast<int64_t>(got);
    bytes.append(chunk.data(), got);

    const absl::string_view view = bytes;
    size_t begin = view.find(kBegin);
    while (begin != absl::string_view::npos) {
      const size_t next = view.find(kBegin, begin + 1);
      const size_t end = std::min(next, view.find('\n', begin));
      if (end == absl::string_view::npos && !at_end) break;
      // A piece of kAuditRecordBytes or more is not a record, because kAuditRecordBytes includes the line feed, which
      // `piece` does not have.
      const absl::string_view piece = view.substr(begin, std::min(end, view.size()) - begin);
      if (piece.size() < kAuditRecordBytes && IsFirstOfLaterGroup(piece, sequence, chain)) return true;
      begin = next;
    }
    // Keeps a candidate whose end was not read yet, or the last bytes, which may be the beginning of kBegin.
    if (begin == absl::string_view::npos || bytes.size() - begin >= kAuditRecordBytes) {
      begin = bytes.size() - std::min(bytes.size(), kBegin.size() - 1);
    }
    bytes.erase(0, begin);
  }
  return false;
}

}  // namespace stampgate
