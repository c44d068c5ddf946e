// Decides whether the parts of a delivery are the ones that upstream signed.
//
// A signature covers "<key id>.<timestamp>.<event id>.<body>" after a constant beginning, and a delivery states the
// parts. If the text can be split into other parts of the right forms, a sender who knows one genuine delivery could
// state these, and the signature would be valid for them too.
//
// At most one split has a body that is a JSON object: of two such bodies, one would be the end of the other one after a
// dot. A dot within an object is in a number, after which no object begins, or in a string. A text that begins within a
// string of an object has its quotes the other way round, so it is no object. Upstream's bodies are objects, so this
// split is the one that upstream has signed, if also its first three parts are unambiguous (see identifier.h).
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_SPLIT_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_SPLIT_H_

#include "absl/strings/string_view.h"
#include "webhooks/verification/delivery_headers.h"

namespace stampgate {

enum class Split {
  kSigned,     // upstream signed these parts
  kOther,      // upstream signed other parts of the same text
  kAmbiguous,  // nothing shows which of several splits upstream signed
};

// Checks a delivery whose signature is valid. `headers` come from ReadSignedHeaders. `body_is_object` is whether
// ReadSignedBody accepts `body`. If no split has an object as its body, the parts count as signed if both ids are
// ordinary or there is no second split.
Split CheckSplit(const SignedHeaders& headers, absl::string_view body, bool body_is_object);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_SPLIT_H_
