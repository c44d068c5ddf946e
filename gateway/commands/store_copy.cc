#include "gateway/commands/store_copy.h"

#include <filesystem>
#include <memory>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/store_bounds.h"
#include "base/secret/symmetric_key.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/config/settings/store_bounds.h"
#include "gateway/store/call_copy.h"
#include "gateway/store/postgres/postgres_call_copy.h"
#include "gateway/store/postgres/store_owner.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/sqlite/sqlite_call_copy.h"
#include "webhooks/log/log_copy.h"
#include "webhooks/log/postgres/postgres_log_copy.h"
#include "webhooks/log/sqlite/sqlite_log_copy.h"

namespace stampgate {
namespace {

// How often the command prints its progress.
constexpr absl::Duration kProgressInterval = absl::Seconds(5);

// The store on the server.
struct ServerStore {
  PostgresAddress address;
  SecretBytes key;
  StoreBounds bounds;
  std::unique_ptr<PostgresConnection> connection;
};

absl::StatusOr<ServerStore> OpenServer(const config::v1::Config& config) {
  ABSL_ASSIGN_OR_RETURN(SecretBytes key,
                        ReadSymmetricKey(config.store().postgresql().key_file(), SecretOwnersOf(config)));
  PostgresAddress address = AddressOf(config);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, PostgresConnection::Open(address));
  return ServerStore{std::move(address), std::move(key), StoreBoundsOf(config), std::move(connection)};
}

class StoreCopy {
 public:
  StoreCopy(ServerStore server, std::string events, std::string calls,
            const std::function<void(absl::string_view)>& on_progress)
      : server_(std::move(server)), events_(std::move(events)), calls_(std::move(calls)), on_progress_(on_progress) {}

  // Copies the files to the server. A file that the gateway has not created yet has nothing to copy.
  absl::StatusOr<std::string> ToServer() {
    PostgresConnection& connection = *server_.connection;
    std::unique_ptr<LogSource> log;
    if (std::filesystem::exists(events_)) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogSource> opened, OpenSqliteLogSource(events_, absl::Now()));
      log = std::move(opened);
    }
    std::unique_ptr<CallSource> calls;
    if (std::filesystem::exists(calls_)) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallSource> opened, OpenSqliteCallSource(calls_, absl::Now()));
      calls = std::move(opened);
    }
    if (log == nullptr && calls == nullptr) return NoStore(events_);
    ABSL_RETURN_IF_ERROR(ClaimEmptyStore(connection, server_.address.schema));
    if (log != nullptr) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogTarget> target,
                            CreatePostgresLogTarget(connection, log->state(), server_.key));
      ABSL_RETURN_IF_ERROR(CopyEvents(*log, *target));
    }
    if (calls != nullptr) {
      ABSL_RETURN_IF_ERROR(CopyKeys(*calls, *MakePostgresCallTarget(connection, server_.key)));
    }
    ABSL_RETURN_IF_ERROR(WriteStoreBounds(connection, server_.bounds));
    ABSL_RETURN_IF_ERROR(OpenClaimedStore(connection, StepsOfThisProgram()));
    return Report();
  }

  // Copies the store on the server to the files.
  absl::StatusOr<std::string> ToFiles() {
    PostgresConnection& connection = *server_.connection;
    ABSL_RETURN_IF_ERROR(CheckStore(connection, StepsOfThisProgram()));
    ABSL_RETURN_IF_ERROR(CheckStoreIsUnused(connection));
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogSource> log,
                          OpenPostgresLogSource(connection, server_.address, server_.key));
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallSource> calls, OpenPostgresCallSource(connection, server_.key));
    ABSL_RETURN_IF_ERROR(CopyToFiles(*log, *calls));
    ABSL_RETURN_IF_ERROR(CheckStoreIsUnused(connection));
    ABSL_RETURN_IF_ERROR(OpenCopiedLog(events_));
    if (!calls_.empty()) {
      ABSL_RETURN_IF_ERROR(OpenCopiedCalls(calls_));
    }
    return Report();
  }

 private:
  static absl::Status NoStore(const std::string& path) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": there is no store to copy"));
  }

  // Creates both files before it copies anything. A gateway opens its call store before its log, so the call store is
  // the first that refuses it, and the last that is opened.
  absl::Status CopyToFiles(LogSource& log, CallSource& calls) {
    std::unique_ptr<CallTarget> keys;
    if (!calls_.empty()) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallTarget> created, CreateSqliteCallTarget(calls_, absl::Now()));
      keys = std::move(created);
    }
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogTarget> target, CreateSqliteLogTarget(events_, log.state().identity));
    if (keys != nullptr) {
      ABSL_RETURN_IF_ERROR(CopyKeys(calls, *keys));
    }
    return CopyEvents(log, *target);
  }

  absl::Status CopyEvents(LogSource& source, LogTarget& target) {
    const LogState& state = source.state();
    absl::Time next = absl::Now() + kProgressInterval;
    absl::Status status = CopyLog(source, target, [&](Position last) {
      if (absl::Now() < next) return;
      next = absl::Now() + kProgressInterval;
      on_progress_(absl::StrCat("copied event ", last, " of ", state.latest));
    });
    events_copied_ = state.latest - state.earliest + 1;
    return status;
  }

  absl::Status CopyKeys(CallSource& source, CallTarget& target) {
    const absl::StatusOr<int64_t> keys = CopyCalls(source, target);
    if (keys.ok()) keys_copied_ = *keys;
    return keys.status();
  }

  std::string Report() const {
    return absl::StrCat("events: ", events_copied_, "\nidempotency keys: ", keys_copied_,
                        "\nThe new store is complete. Start the gateways with its config only.\n");
  }

  ServerStore server_;
  const std::string events_;
  const std::string calls_;
  const std::function<void(absl::string_view)>& on_progress_;
  int64_t events_copied_ = 0;
  int64_t keys_copied_ = 0;
};

}  // namespace

absl::StatusOr<std::string> CopyStoreOf(const std::string& from, const std::string& to,
                                        const std::function<void(absl::string_view)>& on_progress) {
  ABSL_ASSIGN_OR_RETURN(const Config source, LoadPolicy(from));
  ABSL_ASSIGN_OR_RETURN(const Config target, LoadPolicy(to));
  const bool to_server = target->store().has_postgresql();
  if (to_server == source->store().has_postgresql()) {
    return absl::FailedPreconditionError(
        "one config must have a store in SQLite files, and the other store.postgresql");
  }
  const Config& files = to_server ? source : target;
  if (files->events().file().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(to_server ? from : to, ": the config has no store"));
  }
  ABSL_ASSIGN_OR_RETURN(ServerStore server, OpenServer(to_server ? *target : *source));
  StoreCopy copy(std::move(server), files->events().file(), CallStoreFile(*files), on_progress);
  return to_server ? copy.ToServer() : copy.ToFiles();
}

}  // namespace stampgate
