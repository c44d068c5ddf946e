// The seals of idempotency keys on a PostgreSQL server.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_SEAL_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_SEAL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/postgres/seals.h"
#include "base/secret/bytes.h"
#include "gateway/store/call_row.h"

namespace stampgate {

// Without a seal, somebody who has a role on the server could give a caller a wrong outcome, or make a gateway send a
// submit twice. The seal covers the row and its version, so that an earlier row cannot replace a later one. Its key is
// derived from the key of the store. Thread-safe.
class SubmitSeals {
 public:
  explicit SubmitSeals(const SecretBytes& store_key);

  std::string Make(const CallRow& row, int64_t version) const;
  bool IsValid(absl::string_view seal, const CallRow& row, int64_t version) const;

 private:
  const Seals seals_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_SEAL_H_
