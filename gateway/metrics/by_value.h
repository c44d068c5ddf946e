// Series of one family, one for each value of an enum.
#ifndef STAMPGATE_GATEWAY_METRICS_BY_VALUE_H_
#define STAMPGATE_GATEWAY_METRICS_BY_VALUE_H_

#include <prometheus/family.h>
#include <prometheus/labels.h>

#include <cstddef>
#include <string>
#include <vector>

namespace stampgate {

// Thread-safe. `Enum` has the values 0, 1, ... and a function NameOf, which returns the name of a value for metrics,
// and an empty text for a number that is no value. The family must outlive this.
template <typename Metric, typename Enum>
class ByValue {
 public:
  // The label `label` of each series contains the name of its value. All series also have the labels `more`.
  ByValue(prometheus::Family<Metric>& family, const std::string& label, const prometheus::Labels& more = {}) {
    for (size_t i = 0; !NameOf(static_cast<Enum>(i)).empty(); ++i) {
      prometheus::Labels labels = more;
      labels.emplace(label, NameOf(static_cast<Enum>(i)));
      series_.push_back(&family.Add(labels));
    }
  }

  Metric& operator[](Enum value) const { return *series_[static_cast<size_t>(value)]; }

 private:
  std::vector<Metric*> series_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_BY_VALUE_H_
