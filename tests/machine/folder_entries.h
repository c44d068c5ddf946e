#pragma once

#include <string>

namespace stampgate {

// Records the names in a folder below the watched one, as the disk may have them. "entries/<folder>" in the control
// folder has a line for each state since the folder was last synced: "<inode>/<name>/<inode>/<name>/". The disk
// certainly has the state of the first line; after a power cut it may have that of any later line instead. The slashes
// of <folder> are written as '%'; "%" is the watched folder itself.
//
// `folder` is relative to the watched folder. Not thread-safe: the caller holds the one lock.
void NoteEntries(const std::string& folder);
void SyncEntries(const std::string& folder);

}  // namespace stampgate
