#include "gateway/calls/call_record.h"

namespace stampgate {

void CallRecord::End(const absl::Status& status, absl::FunctionRef<CallFacts()> facts) {
  if (audit_.is_allowed()) {
    const CallFacts known = facts();
    audit_.End(status, known.activity, known.fingerprint, known.attempts);
  }
  Answer(status, facts);
  spans_.End();
}

void CallRecord::Answer(const absl::Status& status, absl::FunctionRef<CallFacts()> facts) {
  counted_.End(status);
  log_.End(status, facts);
  spans_.Answer(status);
}

void CallRecord::EndLate(const absl::Status& status, const CallFacts& facts, const LogFields& outcome) {
  log_.LogLate(outcome, facts.fingerprint);
  audit_.End(status, facts.activity, facts.fingerprint, facts.attempts);
  spans_.End();
}

void CallRecord::EndRefused(const std::string& caller, const absl::Status& status) {
  counted_.End(status);
  log_.SetCaller(caller);
  log_.EndRefused(status);
  spans_.Answer(status);
  spans_.End();
}

}  // namespace stampgate
