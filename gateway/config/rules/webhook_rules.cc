#include "gateway/config/rules/webhook_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/http/address_blocks.h"
#include "base/http/listen_address.h"
#include "base/secret/bytes.h"
#include "gateway/config/settings/defaults.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using Paths = google::protobuf::RepeatedPtrField<std::string>;

constexpr int kMostPaths = 8;

// Calls `fault` with the index of each path that breaks a rule, and with the rule.
void CheckPaths(const Paths& paths, absl::FunctionRef<void(int i, absl::string_view rule)> fault) {
  constexpr size_t kShortest = 24;  // '/' and 23 letters and digits, which nobody can guess if they are random
  static const size_t longest =
      config::v1::Webhooks::descriptor()->FindFieldByName("paths")->options().GetExtension(v1::field).max_bytes();
  const auto allowed = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("-_.~/", c); };
  std::set<absl::string_view> known;
  for (int i = 0; i < paths.size(); ++i) {
    if (paths[i].size() > longest) {
      fault(i, absl::StrCat("must be no longer than ", longest, " bytes"));
    } else if (!absl::StartsWith(paths[i], "/") || paths[i].size() < kShortest || !absl::c_all_of(paths[i], allowed)) {
      fault(i, absl::StrCat("must be '/' and at least ", kShortest - 1,
                            " letters, digits, '-', '_', '.', '~' and '/', chosen at random"));
    } else if (!known.insert(paths[i]).second) {
      fault(i, "is given twice");
    }
  }
}

void CheckListedPaths(const config::v1::Webhooks& webhooks, ConfigReport& report) {
  CheckPaths(webhooks.paths(),
             [&report](int i, absl::string_view rule) { report.Add(absl::StrCat("webhooks.paths[", i, "]"), rule); });
  if (webhooks.paths_size() > kMostPaths) {
    report.Add("webhooks.paths", absl::StrCat("must be no more than ", kMostPaths));
  }
  if (!webhooks.paths().empty() && !webhooks.paths_file().empty()) {
    report.Add("webhooks.paths_file", "must not be given together with paths");
  }
}

void CheckProxies(const google::protobuf::RepeatedPtrField<std::string>& proxies, ConfigReport& report) {
  constexpr int kMost = 64;
  AddressBlocks blocks;
  for (int i = 0; i < proxies.size(); ++i) {
    const absl::Status status = blocks.Add(proxies[i]);
    if (!status.ok()) report.Add(absl::StrCat("webhooks.proxy_protocol_from[", i, "]"), status.message());
  }
  if (proxies.size() > kMost) {
    report.Add("webhooks.proxy_protocol_from", absl::StrCat("must be no more than ", kMost));
  }
}

}  // namespace

void CheckWebhooks(config::v1::Config& config, ConfigReport& report) {
  config::v1::Webhooks& webhooks = *config.mutable_webhooks();
  // Half of it is for connections, and a body needs twice its size while its pieces are joined.
  const uint64_t least = 8 * uint64_t{webhooks.max_body_bytes()};
  if (!webhooks.has_max_bytes()) {
    SetUsualDefaults(webhooks);
    webhooks.set_max_bytes(static_cast<uint32_t>(std::clamp(least, uint64_t{webhooks.max_bytes()}, uint64_t{1} << 30)));
  } else if (webhooks.max_bytes() < least) {
    report.Add("webhooks.max_bytes", "must be at least eight times max_body_bytes");
  }
  CheckListedPaths(webhooks, report);
  if (webhooks.tls_certificate_file().empty() != webhooks.tls_private_key_file().empty()) {
    report.Add(
        webhooks.tls_certificate_file().empty() ? "webhooks.tls_certificate_file" : "webhooks.tls_private_key_file",
        "is required: tls_certificate_file and tls_private_key_file must be given together");
  }
  CheckProxies(webhooks.proxy_protocol_from(), report);
  if (webhooks.listen_address().empty()) return;
  if (!ParseListenAddress(webhooks.listen_address()).ok()) {
    report.Add("webhooks.listen_address", "must be address:port, such as 0.0.0.0:8080");
  }
  if (webhooks.paths().empty() && webhooks.paths_file().empty()) {
    report.Add("webhooks.paths", "is required with listen_address, unless paths_file is given");
  }
  if (config.events().file().empty() && !config.has_store()) {
    report.Add("store", "is required with webhooks.listen_address");
  }
}

void ReadWebhookPaths(const FileContents& contents, config::v1::Webhooks& webhooks, ConfigReport& report) {
  const std::string& file = webhooks.paths_file();
  if (file.empty() || report.IsFaulty("webhooks.paths_file")) return;
  const absl::StatusOr<SecretBytes>& bytes = contents.Secret(file);
  if (!bytes.ok()) {
    // Does not name the file: somebody can have given the webhook path itself in its place.
    report.Add("webhooks.paths_file", bytes.status().message());
    return;
  }
  Paths& paths = *webhooks.mutable_paths();
  std::vector<int> lines;  // the number of the line of each path
  int number = 0;
  for (absl::string_view line : absl::StrSplit(bytes->text(), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    paths.Add(std::string(line));
    lines.push_back(number);
  }
  CheckPaths(paths, [&](int i, absl::string_view rule) {
    report.Add("webhooks.paths_file", absl::StrCat(file, ":", lines[i], ": ", rule));
  });
  if (paths.empty()) report.Add("webhooks.paths_file", absl::StrCat(file, ": lists no path"));
  if (paths.size() > kMostPaths) {
    report.Add("webhooks.paths_file", absl::StrCat(file, ": must list no more than ", kMostPaths, " paths"));
  }
}

}  // namespace stampgate
