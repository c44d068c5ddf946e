#include "gateway/store/sqlite/sqlite_quota_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/database_settings.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/sqlite.h"

namespace stampgate {
namespace {

const DatabaseFormat kFormat = {.name = "a store of quotas", .application_id = 0x73746771 /* "stgq" */, .version = 1};

constexpr int kBusyMs = 1000;
constexpr char kJournal[] = "-journal";

// See the table `quotas` in rates_v2.sql.
constexpr char kCreate[] =
    "CREATE TABLE quotas (quota BLOB NOT NULL, window_us INTEGER NOT NULL, part INTEGER NOT NULL,"
    " taken INTEGER NOT NULL, PRIMARY KEY (quota, window_us, part)) STRICT, WITHOUT ROWID";

// take_quota in rates_v2.sql has the same rules.
class SqliteQuotaStore final : public QuotaStore {
 public:
  SqliteQuotaStore(std::optional<ExclusiveFile> file, SqliteConnection connection, std::function<absl::Time()> now)
      : file_(std::move(file)), connection_(std::move(connection)), now_(std::move(now)) {}

  absl::Status Prepare() {
    const std::string parts = absl::StrCat(QuotaLimit::kParts);
    const auto prepare = [this](SqliteStatement* statement, const std::string& sql) -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(SqliteStatement prepared, SqliteStatement::Prepare(connection_, sql.c_str()));
      *statement = std::move(prepared);
      return absl::OkStatus();
    };
    for (const auto& [statement, sql] : std::initializer_list<std::pair<SqliteStatement*, std::string>>{
             {&forget_, absl::StrCat("DELETE FROM quotas WHERE part < ?1 / (window_us / ", parts, ") - ", parts)},
             {&latest_, "SELECT coalesce(max(part), 0) FROM quotas WHERE quota = ?1 AND window_us = ?2"},
             {&sum_,
              "SELECT coalesce(sum(taken), 0), coalesce(min(part), ?4) FROM quotas"
              " WHERE quota = ?1 AND window_us = ?2 AND part >= ?3 AND taken > 0"},
             {&add_,
              "INSERT INTO quotas VALUES (?1, ?2, ?3, ?4) ON CONFLICT (quota, window_us, part)"
              " DO UPDATE SET taken = taken + excluded.taken"},
             {&give_back_,
              "UPDATE quotas SET taken = max(taken - ?4, 0) WHERE quota = ?1 AND window_us = ?2 AND part = ?3"}}) {
      ABSL_RETURN_IF_ERROR(prepare(statement, sql));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) override {
    QuotaBlock block;
    const absl::Status status = InTransaction([&] { return TakeNow(limit, wanted, &block); });
    if (!status.ok()) return status;
    return block;
  }

  absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) override {
    return InTransaction([&] { return Change(give_back_, limit, part, calls); });
  }

 private:
  static void Name(SqliteStatement& statement, const QuotaLimit& limit) {
    statement.BindBlob(1, limit.quota);
    statement.Bind(2, absl::ToInt64Microseconds(limit.window));
  }

  static absl::StatusOr<int64_t> NumberOf(SqliteStatement& statement) {
    const SqliteReset reset(statement);
    ABSL_ASSIGN_OR_RETURN(const bool row, statement.Step());
    return row ? statement.Number(0) : 0;
  }

  static absl::Status Change(SqliteStatement& statement, const QuotaLimit& limit, int64_t part, int64_t calls) {
    Name(statement, limit);
    statement.Bind(3, part);
    statement.Bind(4, calls);
    return statement.Run();
  }

  absl::Status TakeNow(const QuotaLimit& limit, int64_t wanted, QuotaBlock* block) {
    const int64_t now_us = absl::ToUnixMicros(now_());
    const int64_t part_us = absl::ToInt64Microseconds(limit.window) / QuotaLimit::kParts;
    forget_.Bind(1, now_us);
    ABSL_RETURN_IF_ERROR(forget_.Run());
    Name(latest_, limit);
    ABSL_ASSIGN_OR_RETURN(const int64_t latest, NumberOf(latest_));
    block->part = std::max(latest, now_us / part_us);
    Name(sum_, limit);
    sum_.Bind(3, block->part - QuotaLimit::kParts);
    sum_.Bind(4, block->part);
    int64_t oldest = 0;
    {
      const SqliteReset reset(sum_);
      ABSL_RETURN_IF_ERROR(sum_.Step().status());
      block->used = sum_.Number(0);
      oldest = sum_.Number(1);
    }
    block->calls = std::max<int64_t>(std::min(wanted, (limit.calls - block->used + 7) / 8), 0);
    block->used += block->calls;
    block->left = absl::Microseconds((block->part + 1) * part_us - now_us);
    block->freed_in = absl::Microseconds((oldest + QuotaLimit::kParts + 1) * part_us - now_us);
    // A write of nothing would wait for the disk.
    return block->calls > 0 ? Change(add_, limit, block->part, block->calls) : absl::OkStatus();
  }

  template <typename Body>
  absl::Status InTransaction(Body body) {
    if (!CanGoOn(failure_)) return failure_;
    absl::Status status = connection_.Run("BEGIN IMMEDIATE");
    if (status.ok()) status = body();
    if (status.ok()) status = connection_.Run("COMMIT");
    if (status.ok()) return status;
    if (connection_.in_transaction()) connection_.Run("ROLLBACK").IgnoreError();
    failure_ = status;
    return status;
  }

  const std::optional<ExclusiveFile> file_;
  SqliteConnection connection_;
  SqliteStatement forget_;
  SqliteStatement latest_;
  SqliteStatement sum_;
  SqliteStatement add_;
  SqliteStatement give_back_;
  const std::function<absl::Time()> now_;
  absl::Status failure_;
};

absl::StatusOr<std::unique_ptr<QuotaStore>> Open(SqliteQuotaStoreOptions options) {
  std::optional<ExclusiveFile> file;
  if (options.disk->vfs().empty()) {
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile claimed, ExclusiveFile::Claim(options.path, {kJournal}));
    file = std::move(claimed);
    ABSL_RETURN_IF_ERROR(RefuseOtherNames(options.path));
  }
  for (const char* suffix : {"", kJournal}) {
    ABSL_RETURN_IF_ERROR(options.disk->Settle(options.path + suffix));
  }
  ABSL_ASSIGN_OR_RETURN(
      SqliteConnection connection,
      SqliteConnection::Open(options.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                             options.disk->vfs()));
  ABSL_RETURN_IF_ERROR(SetUntrusting(connection, kBusyMs));
  ABSL_ASSIGN_OR_RETURN(const int64_t version, VersionOfDatabase(connection, kFormat));
  // Without a write-ahead log, because the file is small, and because a checkpoint then need not be requested.
  for (const char* setting : {"PRAGMA journal_mode = TRUNCATE", "PRAGMA synchronous = FULL"}) {
    ABSL_RETURN_IF_ERROR(connection.Run(setting));
  }
  if (version == 0) {
    for (const std::string& sql : {std::string("BEGIN IMMEDIATE"), std::string(kCreate),
                                   absl::StrCat("PRAGMA application_id = ", kFormat.application_id),
                                   absl::StrCat("PRAGMA user_version = ", kFormat.version), std::string("COMMIT")}) {
      ABSL_RETURN_IF_ERROR(connection.Run(sql.c_str()));
    }
  }
  auto store = std::make_unique<SqliteQuotaStore>(std::move(file), std::move(connection), std::move(options.now));
  ABSL_RETURN_IF_ERROR(store->Prepare());
  return store;
}

}  // namespace

absl::StatusOr<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(SqliteQuotaStoreOptions options) {
  const std::string path = options.path;
  absl::StatusOr<std::unique_ptr<QuotaStore>> store = Open(std::move(options));
  if (store.ok()) return store;
  absl::StatusCode code = store.status().code();
  // A missing table means that the store is damaged.
  if (code == absl::StatusCode::kInternal) code = absl::StatusCode::kDataLoss;
  if (code != absl::StatusCode::kFailedPrecondition && code != absl::StatusCode::kDataLoss) {
    code = absl::StatusCode::kUnavailable;
  }
  return absl::Status(code, absl::StrCat("store of quotas ", path, ": ", store.status().message()));
}

}  // namespace stampgate
