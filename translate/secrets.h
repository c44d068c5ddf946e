// Removes the secrets of a request from texts that upstream returns.
#ifndef STAMPGATE_TRANSLATE_SECRETS_H_
#define STAMPGATE_TRANSLATE_SECRETS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"

namespace stampgate {

// The secrets of a request: the values of its secret fields. If a secret field contains JSON text, the secrets are the
// strings in the JSON, and its numbers of eight characters or more. If it is bytes, the secret is their base64 text, as
// in the body. If it is a map, the secrets are the values of its entries, not the keys.
class Secrets {
 public:
  // Copies the secrets of `message`. Takes time proportional to the size of `message`.
  explicit Secrets(const ParsedMessage& message);

  // Adds a secret that is not in the message.
  void Add(std::string secret);

  // Returns `text` after replacing every secret, and every part of eight or more bytes of a secret, by "[secret]". If
  // `text` is longer than kMaxTextBytes, first truncates it at the end of a character. Takes time proportional to the
  // total length of the secrets.
  std::string Strike(absl::string_view text) const;

  static constexpr size_t kMaxTextBytes = 2048;

 private:
  void Collect(const ParsedMessage& message);
  void Add(const FieldPlan& field, absl::string_view value);

  std::vector<std::string> long_;           // secrets of eight bytes or more
  absl::flat_hash_set<std::string> short_;  // secrets of one to seven bytes
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_SECRETS_H_
