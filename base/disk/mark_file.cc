#include "base/disk/mark_file.h"

#include <algorithm>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/disk/big_endian.h"
#include "base/secret/sha256.h"

namespace stampgate {
namespace {

// The distance between the two slots. The slots are in different blocks, so that a write to one slot cannot damage
// the other.
constexpr size_t kSlotBytes = 4096;
constexpr int kSlots = 2;

// The layout of a slot: a magic text, the log's id, the number of the write, the mark's number and digest, and a
// checksum of all these fields. A slot fits into one sector of the disk.
constexpr absl::string_view kName = "stgmark1";
constexpr size_t kLogAt = kName.size();
constexpr size_t kWritesAt = kLogAt + 16;
constexpr size_t kNumberAt = kWritesAt + 8;
constexpr size_t kDigestAt = kNumberAt + 8;
constexpr size_t kChecksumAt = kDigestAt + 32;
constexpr size_t kMarkBytes = kChecksumAt + 32;

template <size_t kSize>
absl::string_view AsText(const std::array<uint8_t, kSize>& bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::string_view AsText(const std::array<char, 8>& bytes) { return absl::string_view(bytes.data(), bytes.size()); }

std::string Encode(const MarkFile::LogId& log, uint64_t writes, const HighWaterMark& mark) {
  std::string bytes = absl::StrCat(kName, AsText(log), AsText(ToBigEndian(writes)), AsText(ToBigEndian(mark.number)),
                                   AsText(mark.digest));
  absl::StrAppend(&bytes, AsText(Sha256(bytes)));
  return bytes;
}

bool IsWhole(absl::string_view bytes) {
  return bytes.substr(0, kName.size()) == kName &&
         AsText(Sha256(bytes.substr(0, kChecksumAt))) == bytes.substr(kChecksumAt);
}

}  // namespace

absl::StatusOr<MarkFile> MarkFile::Open(const std::string& path, const LogId& log, Disk& disk) {
  ABSL_RETURN_IF_ERROR(disk.Settle(path));
  ABSL_ASSIGN_OR_RETURN(VfsFile file, VfsFile::Open(path, disk.vfs()));
  MarkFile marks(std::move(file), log);
  if (absl::Status status = marks.Read(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  }
  return marks;
}

absl::Status MarkFile::Read() {
  int damaged = 0;
  for (int slot = 0; slot < kSlots; ++slot) {
    const absl::StatusOr<std::string> bytes = file_.Read(slot * static_cast<int64_t>(kSlotBytes), kMarkBytes);
    if (!bytes.ok()) return bytes.status();
    if (*bytes == std::string(kMarkBytes, '\0')) {
      // Writes zeros to reserve the disk space of the slot, so that later writes succeed on a full disk.
      ABSL_RETURN_IF_ERROR(file_.Write(slot * static_cast<int64_t>(kSlotBytes), *bytes));
      continue;
    }
    const absl::string_view text = *bytes;
    if (!IsWhole(text)) {
      ++damaged;
      continue;
    }
    const uint64_t writes = FromBigEndian(text.data() + kWritesAt);
    if (text.substr(kLogAt, log_.size()) != AsText(log_) || (mark_.has_value() && writes < writes_)) continue;
    writes_ = writes;
    mark_.emplace();
    mark_->number = FromBigEndian(text.data() + kNumberAt);
    std::copy_n(text.begin() + kDigestAt, mark_->digest.size(), mark_->digest.begin());
  }
  // A crash during a write damages at most one of the two slots, and the other slot has the previous mark.
  return damaged < kSlots ? absl::OkStatus() : absl::DataLossError("the high-water mark is damaged");
}

absl::Status MarkFile::Replace(const HighWaterMark& mark) {
  const uint64_t writes = writes_ + 1;
  const int64_t offset = static_cast<int64_t>(writes % kSlots) * static_cast<int64_t>(kSlotBytes);
  ABSL_RETURN_IF_ERROR(file_.Write(offset, Encode(log_, writes, mark)));
  ABSL_RETURN_IF_ERROR(file_.Sync());
  writes_ = writes;
  mark_ = mark;
  return absl::OkStatus();
}

}  // namespace stampgate
