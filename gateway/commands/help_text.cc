#include "gateway/commands/help_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace stampgate {
namespace {

constexpr absl::string_view kCommands =
    R"(stampgate: typed gRPC in, stamped JSON out.

  stampgate serve --config FILE            serves until SIGTERM or SIGINT
  stampgate check --config FILE            reports every fault of a config, and warns of settings without effect
  stampgate check --config FILE --as CALLER
                                           prints what this caller may do, and which keys sign for it
  stampgate keygen --curve CURVE --out FILE
                                           generates an API key
  stampgate audit keygen --out FILE        generates the key of the audit log's MAC chain
  stampgate audit verify --key FILE PATH...
                                           verifies an audit log, or the logs of several gateways
  stampgate store keygen --out FILE        generates the key of a store on PostgreSQL
  stampgate store migrate --config FILE    creates the tables of a store on PostgreSQL
  stampgate store set --config FILE        decides how long a store on PostgreSQL keeps what it has
  stampgate store seal --config FILE       refuses events of gateways of releases before 0.2.0
  stampgate store check --config FILE      checks a store on PostgreSQL and the settings of its server
  stampgate store restored --config FILE   prepares a store that was restored from a copy
  stampgate store copy --from FILE --to FILE
                                           moves a store from SQLite to PostgreSQL, or back
  stampgate operations list [FILE...]      lists the operations of the program, and of files of operations
  stampgate operations diff FILE...        prints what files of operations add and change
  stampgate operations lint FILE...        prints what to decide before a gateway uses files of operations
  stampgate operations export              writes the operations of the program, as a file of operations
  stampgate subscriptions list             lists the shared subscriptions of a running gateway
  stampgate subscriptions show NAME        prints the state of a shared subscription
  stampgate subscriptions parked NAME      lists the events that it has parked
  stampgate subscriptions retry NAME CURSOR...
                                           returns parked events to it
  stampgate subscriptions skip NAME CURSOR...
                                           removes parked events from it
  stampgate subscriptions seek NAME --to PLACE
                                           moves it to another place in the event log
  stampgate subscriptions delete NAME      deletes its state when the config does not declare it any more
  stampgate COMMAND --help                 prints a command's options, exit statuses and an example
  stampgate --version
  stampgate --help

The config is one YAML file; deploy/example.yaml in the source tree documents every setting.
)";

// Stands in a text for the options of the commands that call a gateway.
constexpr absl::string_view kPlaceOfGatewayOptions = "GATEWAY_OPTIONS\n";
constexpr absl::string_view kGatewayOptions =
    R"(  --gateway ADDRESS    required: host and port of the gateway
  --ca FILE            the certificate of the CA of the gateway; without it, the command uses no TLS
  --certificate FILE   the certificate of the caller, if the gateway asks for one
  --key FILE           its private key
  --token FILE         the bearer token of the caller, if the gateway asks for one
)";

struct Help {
  absl::string_view command;
  absl::string_view text;
};

constexpr Help kHelp[] = {
    {"serve", R"(stampgate serve --config FILE

Serves until SIGTERM or SIGINT, then lets calls in flight end. SIGHUP reloads the config without waiting for
reload_interval. The gateway prints the addresses that it listens on to standard output. It writes the log to standard
error, one JSON object a line, including faults at the start ("event":"start_failed").

  --config FILE    required: the YAML file; deploy/example.yaml in the source tree documents every setting

Exit status
  0  ended by a signal
  1  could not start (a fault in the config, a file or a port), or could not continue (the store's disk failed)
  2  the command line is wrong

Example
  stampgate serve --config /etc/stampgate/stampgate.yaml
)"},
    {"check", R"(stampgate check --config FILE [--as CALLER]

Reads the config and every file that it names, as serve does. Prints every fault or, if there is none, the warnings to
standard error, each on one line with file, line and column. A warning is about a setting that is valid but does less
or allows more than it seems to: a caller without grants, a grant that can never allow a call, a class that covers few
methods because class_grants_as_of is not set, or an amount limit without max_amount. Also prints how many operations
no class covers because they are newer than class_grants_as_of.

  --config FILE    required: the YAML file
  --as CALLER      prints what the caller of this name may do, with which keys, and what it would gain with the newest
                   class_grants_as_of. Reads only the config and the organization files, so it needs no keys or
                   certificates

Exit status
  0  the config has no fault; the command may have printed warnings
  1  the config has faults, or no caller has the name
  2  the command line is wrong

Example
  stampgate check --config stampgate.yaml --as payments
)"},
    {"keygen", R"(stampgate keygen --curve CURVE --out FILE

Generates an API key. Writes the private key to FILE, and prints the public key in hex.

  --curve CURVE    required: p256, secp256k1 or ed25519
  --out FILE       required: created with mode 0600, never overwritten

Exit status
  0  the key was generated
  1  the file could not be written, or exists already
  2  the command line is wrong

Example
  stampgate keygen --curve p256 --out main.key
)"},
    {"audit keygen", R"(stampgate audit keygen --out FILE

Generates the key of the audit log's MAC chain: the file of the setting audit.key_file.

  --out FILE       required: created with mode 0600, never overwritten

Exit status
  0  the key was generated
  1  the file could not be written, or exists already
  2  the command line is wrong

Example
  stampgate audit keygen --out audit.key
)"},
    {"audit verify", R"(stampgate audit verify --key FILE [--files WHICH] [--from HEAD] [--head HEAD] PATH
stampgate audit verify --key FILE [--from HEAD] [--head HEAD] AUDIT_FILE AUDIT_FILE...
stampgate audit verify --key FILE [--files WHICH] PATH PATH...

Verifies an audit log from its first record to its last, and reports missing records. A PATH must be the file of the
setting audit.file, or a folder with that file if its name is audit.log. The command also verifies the closed files in
the same folder (AUDIT_FILE.N or AUDIT_FILE.N.DATE, which the gateway has renamed to start a new file). If you name
several files of one log, oldest first, the command verifies only these. A HEAD names a record: it is the record's
number, a colon, and its MAC. The gateway's log and metrics show the head of the last record, and this command prints
it.

If one of several PATHs is a folder, or if all have the same file name, each is the log of another gateway. The command
verifies each by itself, also after another has failed. It prints one line for each log, with its number of records, the
times of the first and last record, and the head; at the end it names each log that failed. Records do not name their
gateway, but the command reports a log that shares records with another one.

  --key FILE       required: the key of the setting audit.key_file
  --files WHICH    closed: check only the closed files, such as copies on another machine; PATH then names the file that
                   the gateway has there, or the folder. Or all, the default: the last file must be there too
  --from HEAD      the last record that was archived elsewhere: records up to it may be missing. Without this option,
                   the log must begin with record 1. Not for several logs
  --head HEAD      a record that the log must contain: detects whether records up to it are missing at the end. Not for
                   several logs

Exit status
  0  the log is whole
  1  records were changed, added or moved, or are missing in the middle or at the end; or the key is wrong; or a log was
     given twice
  2  a file or the key cannot be read, or the command line is wrong
  3  the log is whole except for its end, which a crash has damaged or the gateway is writing
  4  records are missing at the beginning, and --from does not name their last one; the rest is as for 0 or 3
For several logs, the status is the first of 1, 2, 4 and 3 that one of them has.

Example, if the records up to 4711 are in an archive
  stampgate audit verify --key audit.key --from 4711:9c1e...f0 audit.log
Example, with the volumes of three replicas
  stampgate audit verify --key audit.key /mnt/stampgate-0 /mnt/stampgate-1 /mnt/stampgate-2
)"},
    {"store keygen", R"(stampgate store keygen --out FILE

Generates the key for store.postgresql.key_file, and writes it to a new file with mode 0600. The server keeps the key of
the cursors encrypted under this key. All gateways with the same store need a copy of the file.

  --out FILE    required: the new file; an existing file is not changed

Exit status
  0  generated
  1  the file exists or cannot be written
  2  the command line is wrong

Example
  stampgate store keygen --out store.key
)"},
    {"store migrate", R"(stampgate store migrate --config FILE [--grant-to ROLE]

Creates the tables of store.postgresql, unless they exist. The gateway does the same when it starts, unless
store.postgresql.migrate is false. A new store keeps events and idempotency keys as the config says: see store set. With
--grant-to, the role gets the rights that a gateway needs: it can store events, but can neither change nor delete them.
Use a config with the role that owns the tables for this command, and a config with the other role for the gateways.

  --config FILE      required: the YAML file
  --grant-to ROLE    the name of an existing role

Exit status
  0  the tables exist in this version
  1  the config has a fault or no store.postgresql, the server cannot be reached, or a right is missing
  2  the command line is wrong

Example
  stampgate store migrate --config owner.yaml --grant-to stampgate
)"},
    {"store set", R"(stampgate store set --config FILE

Decides how long the store keeps events, their ids and idempotency keys: as the settings events.retention_age,
events.retention_bytes, events.deduplication_age and store.key_retention of the config say. The role of the config must
own the tables: a gateway with another role cannot delete earlier, whatever its config says. A gateway whose config has
store.postgresql.migrate does the same when it starts.

  --config FILE    required: the YAML file

Exit status
  0  decided
  1  the config has a fault or no store.postgresql, the server cannot be used, or the role does not own the tables
  2  the command line is wrong

Example
  stampgate store set --config owner.yaml
)"},
    {"store seal", R"(stampgate store seal --config FILE

Ends the time in which gateways of releases before 0.2.0 can use the store. Run this command after an upgrade, when none
of them runs any more. From then on, every new event must have a seal, which only gateways can make, because they have
the file store.postgresql.key_file. A store that this release has created is sealed from the beginning. The role of the
config must own the tables.

  --config FILE    required: the YAML file

Exit status
  0  sealed
  1  the config has a fault or no store.postgresql, the server cannot be used, or the role does not own the tables
  2  the command line is wrong

Example
  stampgate store seal --config owner.yaml
)"},
    {"store check", R"(stampgate store check --config FILE

Connects to the server of store.postgresql as a gateway does. Checks the version of the tables, and whether the server's
settings keep what the gateway acknowledges. Prints what the owner of the tables has decided. Changes nothing.

  --config FILE    required: the YAML file

Exit status
  0  a gateway can use the store
  1  a gateway cannot use the store, or the config has a fault or no store.postgresql
  2  the command line is wrong

Example
  stampgate store check --config stampgate.yaml
)"},
    {"store restored", R"(stampgate store restored --config FILE

Marks the config's store as restored from a copy. Run this command before a gateway starts with the copy. Afterwards the
gateway refuses older cursors (with a store on PostgreSQL, only those of lost events), and chooses only timestamps that
are greater than all earlier ones. For the time of the setting store.key_retention, it sends nothing for an idempotency
key that the copy contains, and refuses a key unknown to the store.

With a store on PostgreSQL, stop all gateways, restore the server, and start its standbys before. The role of the config
must own the tables. deploy/README.md has all steps. The command also lowers timestamps that are more than ten minutes
ahead of the server's clock, because somebody who had the role of a gateway has perhaps raised them.

  --config FILE    required: the YAML file

Exit status
  0  marked
  1  the config has a fault or no store, there is no store where it says, a gateway has the files open, or the server
     cannot be used
  2  the command line is wrong

Example
  stampgate store restored --config stampgate.yaml
)"},
    {"store copy", R"(stampgate store copy --from FILE --to FILE

Copies a store from SQLite files to a PostgreSQL server, or back: the event log with its positions, the shared
subscriptions, the idempotency keys, and the timestamps that are used up. Every cursor remains valid, the log recognizes
the repetition of an event, consumers settle what they received before, and a submit that is repeated with its
idempotency key is not carried out again. Stop all gateways before. Afterwards start them with the other config only; a
gateway with the old config would continue an old copy. Changes nothing in the store that it reads, except that it
repairs files as the start of a gateway does.

The other store must be new: its files must not exist, or its tables must be empty. On the server, the role of the
config must own the tables, as for store migrate. From the first file or table on until the copy has ended, gateways and
other copies refuse the new store. If the copy is interrupted, they refuse what it has left: delete the new files, also
those whose names end with -copying, or drop the schema, and start again. A log with damaged or lost events, or with a
damaged subscription, is not copied.

  --from FILE    required: the config with the store that exists
  --to FILE      required: the config with the new store

Exit status
  0  copied
  1  a config has a fault, or both name the same kind of store; a store is in use, damaged or not new
  2  the command line is wrong

Example
  stampgate store copy --from sqlite.yaml --to postgresql.yaml
)"},
    {"operations list", R"(stampgate operations list [FILE...]

Prints all operations of the program, and of the files, one operation a line. The columns are: the name of the method in
a grant, the kind, the policy class, the day since which upstream publishes the operation, the path, the type of the
activity, and marks: internal, stamped by client, moves unread amount, another name. A column without a value has a
hyphen.

  FILE    optional: a file as in the setting `operations`. Each file is merged over the ones before it

Exit status
  0  printed
  2  a file cannot be read or has a fault, or the command line is wrong

Example
  stampgate operations list operations.binpb
)"},
    {"operations diff", R"(stampgate operations diff FILE...

Prints what each file adds to and changes in the operations of the program and of the files before it, one element a
line: new operations, other names of operations, new fields and values of messages and enums that exist already, and
fields that accept more. Also prints which elements of a file are left out or not used. A definition that no call uses
does not count.

  FILE    required: a file as in the setting `operations`

Exit status
  0  the files change nothing
  1  the files add or change something
  2  a file cannot be read or has a fault, or the command line is wrong

Example
  stampgate operations diff operations.binpb
)"},
    {"operations lint", R"(stampgate operations lint FILE...

Prints what somebody must decide before a gateway uses the files:

- which grants can give the right to call a new operation, and which day class_grants_as_of needs
- which limits of a grant cannot be checked for it, which fields of its request have a guard, and which texts and
  numbers have none
- which texts of a new submit are not secret, so that error texts can contain them
- which new fields of a request with guards have no guard

  FILE    required: a file as in the setting `operations`. Each file is merged over the ones before it

Exit status
  0  there is nothing to decide
  1  there is something to decide
  2  a file cannot be read or has a fault, or the command line is wrong

Example
  stampgate operations lint operations.binpb
)"},
    {"operations export", R"(stampgate operations export

Writes the operations of the program to standard output, as a serialized FileDescriptorSet with comments. The setting
`operations` of a gateway of another release can name this file. Does not write to a terminal.

Exit status
  0  written
  1  standard output could not be written
  2  standard output is a terminal, or the command line is wrong

Example
  stampgate operations export >operations.binpb
)"},
    {"subscriptions list", R"(stampgate subscriptions list --gateway ADDRESS [OPTIONS]

Prints the shared subscriptions that the caller may list, one a line: their events behind, when the oldest unsettled
event was stored, their unsettled and parked events, and their consumers. Also prints the names of the subscriptions
that the config does not declare any more, and whose state the gateway still keeps.

GATEWAY_OPTIONS

Exit status
  0  printed
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong

Example
  stampgate subscriptions list --gateway gateway.internal:7443 --ca ca.pem --certificate ops.pem --key ops.key
)"},
    {"subscriptions show", R"(stampgate subscriptions show NAME --gateway ADDRESS [OPTIONS]

Prints the state of a shared subscription, one field a line, with the names of the message Subscription in the API.

  NAME                 required: the name of the subscription
GATEWAY_OPTIONS

Exit status
  0  printed
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong

Example
  stampgate subscriptions show payouts --gateway 127.0.0.1:7443
)"},
    {"subscriptions parked", R"(stampgate subscriptions parked NAME --gateway ADDRESS [OPTIONS]

Prints the parked events of a shared subscription, one a line: the cursor, the event's id and type, how often the event
was delivered, when it was parked, and why.

  NAME                 required: the name of the subscription
GATEWAY_OPTIONS

Exit status
  0  printed
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong

Example
  stampgate subscriptions parked payouts --gateway 127.0.0.1:7443
)"},
    {"subscriptions retry", R"(stampgate subscriptions retry NAME CURSOR... --gateway ADDRESS [OPTIONS]

Returns parked events to a shared subscription, which delivers them soon, out of order. Do this when the consumers can
handle the events.

  NAME                 required: the name of the subscription
  CURSOR               required: the cursor of a parked event, as "parked" prints it; or the word all
GATEWAY_OPTIONS

Exit status
  0  returned to the subscription
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong
  3  some of the events were not parked; the others were returned

Example
  stampgate subscriptions retry payouts all --gateway 127.0.0.1:7443
)"},
    {"subscriptions skip", R"(stampgate subscriptions skip NAME CURSOR... --gateway ADDRESS [OPTIONS]

Removes parked events from a shared subscription, which never delivers them again. The event log keeps the events.

  NAME                 required: the name of the subscription
  CURSOR               required: the cursor of a parked event, as "parked" prints it; or the word all
GATEWAY_OPTIONS

Exit status
  0  removed from the subscription
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong
  3  some of the events were not parked; the others were removed

Example
  stampgate subscriptions skip payouts all --gateway 127.0.0.1:7443
)"},
    {"subscriptions seek", R"(stampgate subscriptions seek NAME --to PLACE --gateway ADDRESS [OPTIONS]

Moves a shared subscription to another place in the event log, forward or back, and prints its new state. It then
delivers all events after the place, also those that were settled before, and none of the events before. Parked events
stay parked.

  NAME                 required: the name of the subscription
  --to PLACE           required: earliest, latest, a time such as 2026-11-29T08:00:00Z, or the cursor of an event
GATEWAY_OPTIONS

Exit status
  0  moved
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong

Example
  stampgate subscriptions seek payouts --to 2026-11-29T08:00:00Z --gateway 127.0.0.1:7443
)"},
    {"subscriptions delete", R"(stampgate subscriptions delete NAME --gateway ADDRESS [OPTIONS]

Deletes the position and the parked events of a shared subscription that the config does not declare any more: the
second step of its removal. The event log keeps the events. The caller needs a grant for all organizations.

  NAME                 required: the name of the subscription
GATEWAY_OPTIONS

Exit status
  0  deleted
  1  the gateway refused the call or cannot be reached, or a file cannot be read
  2  the command line is wrong

Example
  stampgate subscriptions delete payouts --gateway 127.0.0.1:7443
)"},
};

std::string TextOf(const Help& help) {
  return absl::StrReplaceAll(help.text, {{kPlaceOfGatewayOptions, kGatewayOptions}});
}

}  // namespace

std::string HelpText(absl::string_view command) {
  std::string group;
  for (const Help& help : kHelp) {
    if (absl::StartsWith(absl::StrCat(command, " "), absl::StrCat(help.command, " "))) return TextOf(help);
    if (absl::StartsWith(help.command, absl::StrCat(command.substr(0, command.find(' ')), " "))) {
      absl::StrAppend(&group, group.empty() ? "" : "\n", TextOf(help));
    }
  }
  return group.empty() ? std::string(kCommands) : group;
}

}  // namespace stampgate
