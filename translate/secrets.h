// Removes the secrets of a request from texts that upstream returns.
#ifndef STAMPGATE_TRANSLATE_SECRETS_H_
#define STAMPGATE_TRANSLATE_SECRETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"

namespace stampgate {

// The secrets of a request: the values of its secret fields. If a secret field contains JSON text, the secrets are the
// strings in the JSON, and its numbers of eight characters or more. If it is bytes, the secret is their base64 text, as
// in the body. If it is a map, the secrets are the values of its entries, not the keys.
class Secrets {
 public:
  // `message` must outlive this object, which does not copy the secrets: there can be many.
  explicit Secrets(const ParsedMessage& message) : message_(message) {}

  // Adds a secret that is not in the message.
  void Add(std::string secret) { added_.push_back(std::move(secret)); }

  // Returns `text` after replacing every secret, and every part of eight or more bytes of a secret, by "[secret]". If
  // `text` is longer than kMaxTextBytes, first truncates it at the end of a character. Takes time proportional to the
  // size of the message.
  std::string Strike(absl::string_view text) const;

  static constexpr size_t kMaxTextBytes = 2048;

 private:
  const ParsedMessage& message_;
  std::vector<std::string> added_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_SECRETS_H_
