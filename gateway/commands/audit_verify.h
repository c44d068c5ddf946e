// The command `stampgate audit verify`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_AUDIT_VERIFY_H_
#define STAMPGATE_GATEWAY_COMMANDS_AUDIT_VERIFY_H_

#include "gateway/commands/command_line.h"

namespace stampgate {

// Verifies the audit logs of the command line, prints the report, and returns the exit status: that of the report, or 2
// if the files could not be verified, so that it is unknown whether they were changed.
int AuditVerify(const CommandLine& line);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_AUDIT_VERIFY_H_
