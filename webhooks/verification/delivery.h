// A webhook delivery as it came in: nothing in it is to be trusted.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_

#include <string>
#include <vector>

#include "webhooks/http/header_field.h"

namespace stampgate {

struct Delivery {
  std::vector<HeaderField> headers;  // those of one name in the order in which they came, beside each other
  std::string body;                  // byte for byte
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_
