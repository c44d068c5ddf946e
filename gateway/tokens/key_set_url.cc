#include "gateway/tokens/key_set_url.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "gateway/upstream/base_url.h"

namespace stampgate {

absl::StatusOr<KeySetUrl> ParseKeySetUrl(absl::string_view text) {
  const size_t scheme_end = text.find("://");
  const size_t path_begin =
      scheme_end == absl::string_view::npos ? absl::string_view::npos : text.find('/', scheme_end + 3);
  if (path_begin == absl::string_view::npos) return absl::InvalidArgumentError("must be https://host[:port]/path");
  const absl::string_view base_url = text.substr(0, path_begin);
  if (const absl::Status status = ParseBaseUrl(base_url).status(); !status.ok()) {
    return absl::InvalidArgumentError(absl::StripPrefix(status.message(), "base_url "));
  }
  const absl::string_view path = text.substr(path_begin);
  if (!absl::c_all_of(path, [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '#'; })) {
    return absl::InvalidArgumentError("must be made of visible ASCII characters, without a fragment");
  }
  return KeySetUrl{std::string(base_url), std::string(path)};
}

}  // namespace stampgate
