#include "gateway/admission/admission_metrics.h"

namespace stampgate {

absl::string_view NameOf(CallClass call_class) {
  switch (call_class) {
    case CallClass::kSubmit:
      return "submit";
    case CallClass::kQuery:
      return "query";
    case CallClass::kBackground:
      return "background";
  }
  return "";
}

absl::string_view NameOf(AdmissionRefusal refusal) {
  switch (refusal) {
    case AdmissionRefusal::kNoPlace:
      return "no_place";
    case AdmissionRefusal::kWaitTooLong:
      return "wait_too_long";
    case AdmissionRefusal::kLeft:
      return "left";
    case AdmissionRefusal::kDraining:
      return "draining";
  }
  return "";
}

absl::string_view NameOf(RetryCause cause) {
  switch (cause) {
    case RetryCause::kUnreachable:
      return "unreachable";
    case RetryCause::kBroken:
      return "broken";
    case RetryCause::kRateLimited:
      return "rate_limited";
    case RetryCause::kUnavailable:
      return "unavailable";
    case RetryCause::kError:
      return "error";
  }
  return "";
}

}  // namespace stampgate
