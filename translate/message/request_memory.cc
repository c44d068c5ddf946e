#include "translate/message/request_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace stampgate {

void RequestMemory::Receive(size_t request_bytes) {
  most_ = std::max(most_, MostBytesHeld(request_bytes));
  Count(request_bytes);
}

absl::StatusOr<absl::string_view> RequestMemory::Keep(absl::string_view a, absl::string_view b) {
  const size_t size = a.size() + b.size();
  if (Left() < size) return Exceeded();
  auto* const copy = google::protobuf::Arena::CreateArray<char>(&arena_, size);
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), copy));
  return absl::string_view(copy, size);
}

absl::Status RequestMemory::Exceeded() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("needs more than ", most_, " bytes of memory with its values and its JSON: the limit is ",
                   kMostBytesPerByte, " times its size, or ", MostBytesHeld(0), " bytes if that is more"));
}

}  // namespace stampgate
