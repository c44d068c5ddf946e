// A webhook delivery before its verification. No part of it is trusted.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_

#include <string>
#include <vector>

#include "base/http/header_field.h"

namespace stampgate {

struct Delivery {
  std::vector<HeaderField> headers;  // in the order received, but headers of one name are adjacent
  std::string body;                  // unchanged bytes
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_H_
