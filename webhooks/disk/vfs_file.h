// A small file of our own on the disk that SQLite uses.
#ifndef STAMPGATE_WEBHOOKS_DISK_VFS_FILE_H_
#define STAMPGATE_WEBHOOKS_DISK_VFS_FILE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Goes through SQLite's VFS, so that a test's disk sees it too. One thread at a time. Errors: kUnavailable, and from
// Write kResourceExhausted if the disk has no room.
class VfsFile {
 public:
  // Opens or makes the file. Its name is that of a file that is there and a suffix that begins with "-"; it gets that
  // file's mode. `vfs` empty for the system's.
  static absl::StatusOr<VfsFile> Open(const std::string& path, const std::string& vfs);

  VfsFile(VfsFile&&) = default;
  VfsFile& operator=(VfsFile&&) = default;

  // The `size` bytes from `offset` on; zeros where the file has none.
  absl::StatusOr<std::string> Read(int64_t offset, size_t size);

  absl::Status Write(int64_t offset, absl::string_view bytes);

  // What was written is on the disk when this returns OK, and so is the file's name.
  absl::Status Sync();

 private:
  struct Close {
    void operator()(sqlite3_file* file) const;
  };

  // The path belongs to the file: SQLite keeps the pointer.
  VfsFile(std::unique_ptr<std::string> path, std::unique_ptr<sqlite3_file, Close> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::unique_ptr<std::string> path_;
  std::unique_ptr<sqlite3_file, Close> file_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_VFS_FILE_H_
