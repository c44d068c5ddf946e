#include "webhooks/log/sqlite/seen_table.h"

#include "absl/strings/str_cat.h"

namespace stampgate {

const char kCreateSeen[] =
    "CREATE TABLE seen ("
    " event_id TEXT NOT NULL,"
    " scope TEXT NOT NULL,"
    " seq INTEGER NOT NULL,"
    " body_sha256 BLOB NOT NULL,"
    " stored_us INTEGER NOT NULL,"
    " PRIMARY KEY (event_id, scope)"
    ") STRICT, WITHOUT ROWID";

const char kIndexSeen[] = "CREATE UNIQUE INDEX seen_by_seq ON seen (seq)";

// Inserts the rows in the order of the new table's key, so that SQLite fills the new table's pages one after the other.
const char kCopySeenOfVersion2[] =
    "INSERT INTO seen (event_id, scope, seq, body_sha256, stored_us)"
    " SELECT s.event_id,"
    "  CASE WHEN e.seq IS NULL THEN ''"
    "   WHEN e.organization_id <> '' THEN '=' || e.organization_id"
    "   ELSE '=' || e.parent_organization_id END,"
    "  s.seq, s.body_sha256, s.stored_us"
    " FROM seen_of_version_2 AS s LEFT JOIN events AS e ON e.seq = s.seq ORDER BY s.event_id";

std::string EncodeScope(absl::string_view organization_id) { return absl::StrCat("=", organization_id); }

}  // namespace stampgate
