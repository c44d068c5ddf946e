// Collects the violations of a request: stores the first ones and counts all.
#ifndef STAMPGATE_TRANSLATE_VIOLATIONS_H_
#define STAMPGATE_TRANSLATE_VIOLATIONS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stampgate {

// A broken rule. `field` is the path of the field in proto names, such as "parameters.policies[2].effect".
struct Violation {
  std::string field;
  std::string description;
};

// Stores only the first kKept violations, but counts all, so that a hostile request cannot cause a large error.
class Violations {
 public:
  static constexpr size_t kKept = 20;

  // Adds the violation that `make` returns. Calls `make` only if the violation will be stored.
  template <typename Make>
  void Add(Make make) {
    if (++count_ <= kKept) kept_.push_back(make());
  }

  // Counts violations that are not stored. Requires that kKept violations are stored, unless `count` is 0.
  void AddUnkept(size_t count) { count_ += count; }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  const std::vector<Violation>& kept() const { return kept_; }

 private:
  size_t count_ = 0;
  std::vector<Violation> kept_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_VIOLATIONS_H_
