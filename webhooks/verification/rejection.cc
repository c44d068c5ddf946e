#include "webhooks/verification/rejection.h"

namespace stampgate {

absl::string_view Name(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::kUnsupportedSignatureVersion:
      return "unsupported_signature_version";
    case RejectionReason::kUnsupportedSignatureAlgorithm:
      return "unsupported_signature_algorithm";
    case RejectionReason::kMissingHeader:
      return "missing_header";
    case RejectionReason::kDuplicateHeader:
      return "duplicate_header";
    case RejectionReason::kMalformedHeader:
      return "malformed_header";
    case RejectionReason::kUnsupportedIdentifier:
      return "unsupported_identifier";
    case RejectionReason::kMissingKey:
      return "missing_key";
    case RejectionReason::kInvalidVerificationKeyAlgorithm:
      return "invalid_verification_key_algorithm";
    case RejectionReason::kInvalidSignature:
      return "invalid_signature";
    case RejectionReason::kStaleTimestamp:
      return "stale_timestamp";
  }
  return "";
}

int HttpStatus(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::kMissingHeader:
    case RejectionReason::kDuplicateHeader:
    case RejectionReason::kMalformedHeader:
      return 400;
    case RejectionReason::kInvalidSignature:
      return 401;
    case RejectionReason::kUnsupportedSignatureVersion:
    case RejectionReason::kUnsupportedSignatureAlgorithm:
    case RejectionReason::kUnsupportedIdentifier:
    case RejectionReason::kMissingKey:
    case RejectionReason::kInvalidVerificationKeyAlgorithm:
    case RejectionReason::kStaleTimestamp:
      return 503;
  }
  return 503;
}

}  // namespace stampgate
