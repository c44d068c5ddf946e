// Why a call gets no place within upstream's rates.
#ifndef STAMPGATE_GATEWAY_ADMISSION_ADMISSION_REFUSAL_H_
#define STAMPGATE_GATEWAY_ADMISSION_ADMISSION_REFUSAL_H_

namespace stampgate {

enum class AdmissionRefusal {
  kNoPlace,      // the call would wait in vain, so it did not wait
  kWaitTooLong,  // the call has waited as long as it may
  kLeft,         // the caller has left while the call waited
  kDraining,     // the call would get no place, or has got none, while the process drains
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_ADMISSION_REFUSAL_H_
