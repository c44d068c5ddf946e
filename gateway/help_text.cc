#include "gateway/help_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr absl::string_view kCommands =
    R"(stampgate: typed gRPC in, stamped JSON out.

  stampgate serve --config FILE            serves until SIGTERM or SIGINT
  stampgate check --config FILE            names every fault of a config, and warns of what cannot be meant
  stampgate check --config FILE --as CALLER
                                           prints what that caller may do, and with which keys
  stampgate keygen --curve CURVE --out FILE
                                           makes an API key
  stampgate audit keygen --out FILE        makes the key that chains the audit's records
  stampgate audit verify --key FILE AUDIT_FILE...
                                           checks an audit log
  stampgate store restored --config FILE   marks a store that was put back from a copy
  stampgate COMMAND --help                 explains a command: its options, its exit statuses, an example
  stampgate --version
  stampgate --help

The config is one YAML file; deploy/example.yaml in the source tree documents every setting.
)";

struct Help {
  absl::string_view command;
  absl::string_view text;
};

constexpr Help kHelp[] = {
    {"serve", R"(stampgate serve --config FILE

Serves until SIGTERM or SIGINT, then lets calls in flight end. SIGHUP: reads the config again at once.
Standard output gets the addresses that are served. Standard error gets the log, one JSON object a line, faults at the
start too ("event":"start_failed").

  --config FILE    required: the YAML file; deploy/example.yaml in the source tree documents every setting

Exit status
  0  ended by a signal
  1  could not start (a fault of the config, a file or a port), or could not go on (the disk of the store failed)
  2  the command line is wrong

Example
  stampgate serve --config /etc/stampgate/stampgate.yaml
)"},
    {"check", R"(stampgate check --config FILE [--as CALLER]

Reads the config and every file that it names as serve would. Standard error gets every fault, or else the warnings, one
a line with file, line and column. It warns of what is allowed and has no effect: a caller without grants, a grant that
can never allow a call.

  --config FILE    required: the YAML file
  --as CALLER      prints what the caller of this name may do, and with which keys. Reads the config and the files of
                   organizations alone, so it needs no keys or certificates

Exit status
  0  no fault; there may be warnings
  1  faults, or no caller has the name
  2  the command line is wrong

Example
  stampgate check --config stampgate.yaml --as payments
)"},
    {"keygen", R"(stampgate keygen --curve CURVE --out FILE

Makes an API key. FILE gets the private half, standard output the public half in hex.

  --curve CURVE    required: p256, secp256k1 or ed25519
  --out FILE       required: made with mode 0600, never overwritten

Exit status
  0  the key was made
  1  the file could not be written, or is there already
  2  the command line is wrong

Example
  stampgate keygen --curve p256 --out main.key
)"},
    {"audit keygen", R"(stampgate audit keygen --out FILE

Makes the key that chains the audit's records: the file of the setting audit.key_file.

  --out FILE       required: made with mode 0600, never overwritten

Exit status
  0  the key was made
  1  the file could not be written, or is there already
  2  the command line is wrong

Example
  stampgate audit keygen --out audit.key
)"},
    {"audit verify", R"(stampgate audit verify --key FILE [--from HEAD] [--head HEAD] AUDIT_FILE
stampgate audit verify --key FILE [--from HEAD] [--head HEAD] AUDIT_FILE AUDIT_FILE...

Checks an audit log from its first record to its last, and names records that are not there. One AUDIT_FILE is the file
of the setting audit.file: the closed files beside it are checked too. Several are checked alone, the oldest first.
A HEAD is the number of a record, a colon, and its MAC: the gateway's log and its metrics show the latest, and this
command prints that of the last record.

  --key FILE       required: the key of the setting audit.key_file
  --from HEAD      the last record that was put elsewhere: records up to it may be missing. Without it the log must
                   begin with record 1
  --head HEAD      a record that must be there: so an end that was cut off before it is found

Exit status
  0  whole
  1  changed: records were changed, added or moved, or are not there in the middle or at the end; or another key
  2  a file or the key cannot be read, or the command line is wrong
  3  whole, but for an end that a crash has cut off or that is being written
  4  the beginning is not there, and --from does not say that it was put elsewhere; the rest is as with 0 or 3

Example: the records up to 4711 are in an archive
  stampgate audit verify --key audit.key --from 4711:9c1e...f0 audit.log
)"},
    {"store restored", R"(stampgate store restored --config FILE

Marks the store of the config as put back from a copy. Run it before the gateway is started with the copy: cursors of
before are refused then, timestamps begin above those of before, and idempotency keys of before send nothing for as long
as keys are kept.

  --config FILE    required: the YAML file

Exit status
  0  marked
  1  a fault of the config, no store, a file that is none, or a gateway that has it open
  2  the command line is wrong

Example
  stampgate store restored --config stampgate.yaml
)"},
};

}  // namespace

std::string HelpText(absl::string_view command) {
  std::string group;
  for (const Help& help : kHelp) {
    if (absl::StartsWith(absl::StrCat(command, " "), absl::StrCat(help.command, " "))) return std::string(help.text);
    if (absl::StartsWith(help.command, absl::StrCat(command.substr(0, command.find(' ')), " "))) {
      absl::StrAppend(&group, group.empty() ? "" : "\n", help.text);
    }
  }
  return group.empty() ? std::string(kCommands) : group;
}

}  // namespace stampgate
