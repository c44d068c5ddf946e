#include "gateway/callers/directory.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"

namespace stampgate {
namespace {

void AddTo(CallerDirectory::Callers& callers, const Caller* caller) {
  if (!absl::c_linear_search(callers, caller)) callers.push_back(caller);
}

}  // namespace

CallerDirectory::CallerDirectory(const config::v1::Config& config, const OperationSet& operations,
                                 const FileOrganizations& of_files) {
  static const auto& none = *new FileOrganizations::value_type();
  for (const config::v1::Caller& entry : config.callers()) {
    const FileOrganizations::value_type& of_caller =
        callers_.size() < of_files.size() ? of_files[callers_.size()] : none;
    const Caller* caller =
        callers_.emplace_back(std::make_unique<const Caller>(entry, operations, config.class_grants_as_of(), of_caller))
            .get();
    for (const std::string& id : entry.spiffe_ids()) AddTo(by_spiffe_id_[id], caller);
    for (const std::string& name : entry.dns_names()) AddTo(by_dns_name_[absl::AsciiStrToLower(name)], caller);
    if (entry.loopback()) on_loopback_.push_back(caller);
  }
}

CallerDirectory::Callers CallerDirectory::Find(const Peer& peer) const {
  if (peer.plaintext_loopback) return on_loopback_;
  if (!peer.spiffe_id.empty()) {
    const auto found = by_spiffe_id_.find(peer.spiffe_id);
    return found == by_spiffe_id_.end() ? Callers() : found->second;
  }
  Callers callers;
  for (const std::string& name : peer.dns_names) {
    const auto found = by_dns_name_.find(name);
    if (found == by_dns_name_.end()) continue;
    for (const Caller* caller : found->second) AddTo(callers, caller);
  }
  return callers;
}

}  // namespace stampgate
