#pragma once

#include <string>

namespace stampgate {

// The names in a folder under the watched one, as the disk may have them. "entries/<folder>" in the control folder has
// a line for each state since the folder was last synced: "<inode>/<name>/<inode>/<name>/". The first line is the state
// that the disk surely has; after a power cut, any of the later ones may be there. The slashes of <folder> are written
// as '%'; "%" is the watched folder itself.
//
// `folder` is relative to the watched folder. Not thread-safe: the caller holds the one lock.
void NoteEntries(const std::string& folder);
void SyncEntries(const std::string& folder);

}  // namespace stampgate
