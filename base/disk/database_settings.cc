#include "base/disk/database_settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

absl::Status Expect(SqliteConnection& connection, const char* pragma, int64_t expected) {
  ABSL_ASSIGN_OR_RETURN(const int64_t value, connection.Number(pragma));
  if (value == expected) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("SQLite did not apply ", pragma, ": its value is ", value));
}

// Constants of SQLite's file format: the size of the header, the first bytes of the header, and the offset of the
// application id in the header. PRAGMA application_id sets this id, which is a big-endian number.
constexpr size_t kHeaderBytes = 100;
constexpr absl::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kApplicationId = 68;

int64_t ApplicationIdOf(absl::string_view header) {
  uint32_t id = 0;
  for (const char byte : header.substr(kApplicationId, sizeof(id))) id = id << 8 | static_cast<unsigned char>(byte);
  return id;
}

bool HasWriteAheadLog(const std::string& path) {
  struct stat file;
  return stat(absl::StrCat(path, "-wal").c_str(), &file) == 0 && file.st_size > 0;
}

}  // namespace

absl::Status CheckDatabaseHeader(const std::string& path, const DatabaseFormat& format) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return absl::NotFoundError("there is no such file");
  if (fd < 0) return absl::UnavailableError(absl::StrCat("cannot be opened: ", std::strerror(errno)));
  const absl::Cleanup close_fd = [fd] { close(fd); };
  std::array<char, kHeaderBytes> bytes;
  const ssize_t size = pread(fd, bytes.data(), bytes.size(), 0);
  if (size < 0) return absl::UnavailableError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  if (size == 0) return absl::OkStatus();
  const absl::string_view header(bytes.data(), static_cast<size_t>(size));
  if (header.size() < kHeaderBytes || !absl::StartsWith(header, kMagic)) {
    return absl::FailedPreconditionError(absl::StrCat("this is not ", format.name, ", or its beginning is damaged"));
  }
  const int64_t id = ApplicationIdOf(header);
  if (id == format.application_id || (id == 0 && HasWriteAheadLog(path))) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("this is not ", format.name, ": it is another program's database"));
}

absl::Status SetUntrusting(SqliteConnection& connection, int busy_ms) {
  sqlite3_busy_timeout(connection.get(), busy_ms);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return connection.Run(
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA mmap_size = 0;"
      "PRAGMA temp_store = MEMORY");
}

absl::StatusOr<int64_t> VersionOfDatabase(SqliteConnection& connection, const DatabaseFormat& format) {
  const absl::StatusOr<int64_t> application = connection.Number("PRAGMA application_id");
  if (absl::IsFailedPrecondition(application.status())) {
    return absl::FailedPreconditionError(absl::StrCat("this is not ", format.name, ", or its beginning is damaged"));
  }
  if (!application.ok()) return application.status();
  const absl::StatusOr<int64_t> version = connection.Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  ABSL_ASSIGN_OR_RETURN(const int64_t tables, connection.Number("SELECT count(*) FROM sqlite_schema"));
  if (*application == 0 && *version == 0 && tables == 0) return 0;
  if (*application != format.application_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is not ", format.name, ": it is another program's database"));
  }
  const int64_t newest = std::max(format.version, format.newest_version);
  if (*version > newest) {
    return absl::FailedPreconditionError(absl::StrCat("its format version is ", *version,
                                                      ", which a newer stampgate has written; ",
                                                      "this stampgate reads format versions up to ", newest));
  }
  if (*version < 1) return absl::DataLossError("it has no format version");
  return version;
}

absl::Status SetDurable(SqliteConnection& connection, bool synchronous_full) {
  ABSL_ASSIGN_OR_RETURN(const std::string journal_mode, connection.Text("PRAGMA journal_mode = WAL"));
  if (journal_mode != "wal") {
    return absl::UnavailableError(
        absl::StrCat("SQLite cannot use a write-ahead log for this file; its journal mode is: ", journal_mode));
  }
  absl::Status status = connection.Run(synchronous_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (!status.ok()) return status;
  status = Expect(connection, "PRAGMA synchronous", synchronous_full ? 2 : 1);
  if (!status.ok()) return status;
  // Turns SQLite's automatic checkpoints off, because they do not report a failed sync. Sets journal_size_limit, so
  // that a write-ahead log below this size keeps its disk space after a checkpoint. The log can reuse this space when
  // the disk is full.
  return connection.Run(
      "PRAGMA journal_size_limit = 67108864;"  // bytes
      "PRAGMA wal_autocheckpoint = 0");
}

}  // namespace stampgate
