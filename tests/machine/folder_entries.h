#pragma once

#include <string>

namespace stampgate {

// Record which states of a folder the disk may have, for the watched folder and each folder inside it. The file
// "entries/<folder>" in the control folder has one line for each state since the last sync of the folder, such as
// "<inode>/<name>/<inode>/<name>/". After a power cut, the disk has the state of one of these lines. In the file name
// <folder>, a '%' replaces each slash; "%" is the watched folder itself.
//
// NoteEntries appends the current state, SyncEntries replaces all states by the current one. `folder` is relative to
// the watched folder. Not thread-safe: callers use one lock for all folders.
void NoteEntries(const std::string& folder);
void SyncEntries(const std::string& folder);

}  // namespace stampgate
