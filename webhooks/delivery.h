// A webhook delivery as it came in: nothing in it is to be trusted.
#ifndef STAMPGATE_WEBHOOKS_DELIVERY_H_
#define STAMPGATE_WEBHOOKS_DELIVERY_H_

#include <string>
#include <vector>

namespace stampgate {

struct HeaderField {
  std::string name;   // as it was spelled
  std::string value;  // without white space around it
};

struct Delivery {
  std::vector<HeaderField> headers;  // those of one name in the order in which they came, beside each other
  std::string body;                  // byte for byte
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DELIVERY_H_
