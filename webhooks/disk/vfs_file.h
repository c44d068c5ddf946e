// A small file of the gateway on the disk that SQLite uses.
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

// Uses SQLite's VFS, so that a test's disk sees its operations. One thread at a time. Errors: kUnavailable; Write also
// returns kResourceExhausted if the disk is full.
class VfsFile {
 public:
  // Opens or creates the file. Its name is that of an existing file and a suffix that begins with "-"; it gets that
  // file's mode. `vfs` is empty for the system's.
  static absl::StatusOr<VfsFile> Open(const std::string& path, const std::string& vfs);

  VfsFile(VfsFile&&) = default;
  VfsFile& operator=(VfsFile&&) = default;

  // The `size` bytes from `offset` on; zeros past the end of the file.
  absl::StatusOr<std::string> Read(int64_t offset, size_t size);

  absl::Status Write(int64_t offset, absl::string_view bytes);

  // When this returns OK, the written bytes and the file's name are on the disk.
  absl::Status Sync();

 private:
  struct Close {
    void operator()(sqlite3_file* file) const;
  };

  // The file owns the path, because SQLite keeps the pointer.
  VfsFile(std::unique_ptr<std::string> path, std::unique_ptr<sqlite3_file, Close> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::unique_ptr<std::string> path_;
  std::unique_ptr<sqlite3_file, Close> file_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_VFS_FILE_H_
