#include "base/disk/vfs_file.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

absl::Status Failed(const std::string& path, absl::string_view what, int code) {
  const absl::StatusCode status =
      code == SQLITE_FULL ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return absl::Status(status, absl::StrCat(path, " ", what, ": ", sqlite3_errstr(code)));
}

}  // namespace

void VfsFile::Close::operator()(sqlite3_file* file) const {
  if (file->pMethods != nullptr) file->pMethods->xClose(file);
  std::free(file);
}

absl::StatusOr<VfsFile> VfsFile::Open(const std::string& path, const std::string& vfs) {
  sqlite3_vfs* const found = sqlite3_vfs_find(vfs.empty() ? nullptr : vfs.c_str());
  if (found == nullptr) return absl::UnavailableError("SQLite has no such VFS");
  // With SQLITE_OPEN_MAIN_JOURNAL, SQLite creates the file with the mode of its database, and syncs its folder with the
  // file's first sync.
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL;
  auto name = std::make_unique<std::string>(path);
  std::unique_ptr<sqlite3_file, Close> file(
      static_cast<sqlite3_file*>(std::calloc(1, static_cast<size_t>(found->szOsFile))));
  if (file == nullptr) return absl::UnavailableError("memory is short");
  const int code = found->xOpen(found, name->c_str(), file.get(), kFlags, nullptr);
  if (code != SQLITE_OK) return Failed(path, "cannot be opened", code);
  return VfsFile(std::move(name), std::move(file));
}

absl::StatusOr<std::string> VfsFile::Read(int64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const int code = file_->pMethods->xRead(file_.get(), bytes.data(), static_cast<int>(size), offset);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return Failed(*path_, "cannot be read", code);
  return bytes;
}

absl::Status VfsFile::Write(int64_t offset, absl::string_view bytes) {
  const int code = file_->pMethods->xWrite(file_.get(), bytes.data(), static_cast<int>(bytes.size()), offset);
  return code == SQLITE_OK ? absl::OkStatus() : Failed(*path_, "cannot be written", code);
}

absl::Status VfsFile::Sync() {
  const int code = file_->pMethods->xSync(file_.get(), SQLITE_SYNC_NORMAL);
  return code == SQLITE_OK ? absl::OkStatus() : Failed(*path_, "cannot be written to disk", code);
}

}  // namespace stampgate
