// A small file that the gateway reads and writes through SQLite's VFS.
#ifndef STAMPGATE_BASE_DISK_VFS_FILE_H_
#define STAMPGATE_BASE_DISK_VFS_FILE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// A file that uses SQLite's VFS, so that a TestDisk simulates the file's operations too. Only one thread at a time may
// use a VfsFile. Errors: kUnavailable; Write also returns kResourceExhausted if the disk is full.
class VfsFile {
 public:
  // Opens or creates the file. `path` is the path of an existing file, followed by a suffix that begins with "-". A new
  // file gets the mode of that existing file. An empty `vfs` means SQLite's default VFS.
  static absl::StatusOr<VfsFile> Open(const std::string& path, const std::string& vfs);

  VfsFile(VfsFile&&) = default;
  VfsFile& operator=(VfsFile&&) = default;

  // Returns `size` bytes from `offset` on. Bytes past the end of the file are zero.
  absl::StatusOr<std::string> Read(int64_t offset, size_t size);

  absl::Status Write(int64_t offset, absl::string_view bytes);

  // Syncs the file. If this returns OK, the disk has the written bytes and the file's name.
  absl::Status Sync();

 private:
  struct Close {
    void operator()(sqlite3_file* file) const;
  };

  // This object owns the path, because SQLite keeps a pointer to it.
  VfsFile(std::unique_ptr<std::string> path, std::unique_ptr<sqlite3_file, Close> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::unique_ptr<std::string> path_;
  std::unique_ptr<sqlite3_file, Close> file_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_VFS_FILE_H_
