// Decides whether a committed transaction is durable, from what each role may read.
//
// A COMMIT waits for a synchronous standby only while the server's setting synchronous_standby_names is not empty. If
// the setting is emptied while COMMITs wait, they all return at once, and without a warning. So a transaction reads its
// terms as its last statement, and the session reads them again after the COMMIT. A server process reloads the settings
// between two statements. The postmaster signals the sessions before it signals the checkpointer, which lets the
// COMMITs return. So a session whose COMMIT was let go reads other terms after it: the time of the reload shows this
// also if the setting was emptied and restored in between.
//
// One case remains: the setting was empty, a session has reloaded the new setting, and the checkpointer has not yet.
// The session's COMMITs then do not wait, although the setting is not empty. The terms count only one second after the
// reload, but the checkpointer can take longer: minutes during an immediate checkpoint, such as that of pg_basebackup.
// Nothing shows this to a plain role. So after the setting was empty, transactions can be lost with the server until a
// checkpoint that began after the reload has ended. An operator runs CHECKPOINT after the reload.
//
// An administrator can also cancel or terminate a COMMIT that waits. Its session then gets a warning or is lost, but
// another session cannot see from the terms that the transaction is perhaps not durable.
#ifndef STAMPGATE_BASE_POSTGRES_COMMIT_TERMS_H_
#define STAMPGATE_BASE_POSTGRES_COMMIT_TERMS_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "base/postgres/result.h"

namespace stampgate {

// Terms count when they are older than this.
inline constexpr std::chrono::seconds kTermsSettle(1);

// On which terms a server commits, as one of its sessions knows them.
struct CommitTerms {
  int64_t loaded_us = 0;          // when the session's process has loaded the settings; since 1970
  bool are_settled = false;       // whether this was more than kTermsSettle ago
  bool requires_standby = false;  // synchronous_standby_names is not empty
  bool waits = false;             // the transaction waits for the disk and the standby; meaningful only inside of it
  bool syncs = false;             // fsync is on
  bool writes = false;            // the transaction has written, so that its COMMIT waits; meaningful only inside of it
};

// A statement whose result CommitTermsOf reads.
extern const char kReadCommitTerms[];
CommitTerms CommitTermsOf(const PostgresResult& result);

// Decides whether a transaction is durable. `before` are the terms before its COMMIT, and `after` those after it. If
// `needs_standby`, it must also survive the loss of the server. Returns kAborted if a later transaction can show it,
// and kFailedPrecondition if somebody must first change a setting.
absl::Status CheckCommit(const CommitTerms& before, const CommitTerms& after, bool needs_standby);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_COMMIT_TERMS_H_
