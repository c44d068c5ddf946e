#include "gateway/config/loader.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/secret/memory.h"
#include "base/secret/sha256.h"
#include "gateway/config/reloaded_part.h"
#include "gateway/config/rules/operation_files.h"
#include "gateway/tokens/issuers.h"
#include "gateway/tokens/key_set.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

// Returns a digest of everything in Access. The digest is not secret: the log and the audit log contain it. It reveals
// nothing about the webhook paths, which are random.
std::string VersionOf(const Config& config, const Access& access, absl::string_view public_keys,
                      absl::string_view key_sets) {
  std::string text =
      absl::StrCat(SerializeDeterministically(access.settings), access.operations_sha256, public_keys, key_sets);
  for (const auto& of_caller : config.organizations()) {
    for (const std::shared_ptr<const OrganizationIds>& ids : of_caller) {
      if (ids == nullptr) continue;
      text.append(reinterpret_cast<const char*>(ids->digest().data()), ids->digest().size());
    }
  }
  const auto digest = Sha256(text);
  constexpr size_t kBytes = 8;
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), kBytes));
}

// Returns null if the config has no token issuer. `key_sets` contains the keys from the issuers' files.
absl::StatusOr<std::shared_ptr<TokenVerifier>> MakeTokenVerifier(const config::v1::Config& config,
                                                                 std::vector<std::optional<TokenKeySet>> key_sets,
                                                                 TokenKeyPool& token_keys) {
  if (config.token_issuers().empty()) return nullptr;
  std::vector<TokenIssuerRule> rules;
  for (int i = 0; i < config.token_issuers_size(); ++i) {
    const config::v1::TokenIssuer& issuer = config.token_issuers(i);
    absl::StatusOr<std::shared_ptr<TokenKeys>> keys =
        key_sets[i].has_value() ? MakeFixedTokenKeys(*std::move(key_sets[i])) : token_keys.Get(issuer);
    if (!keys.ok()) {
      return absl::Status(keys.status().code(),
                          absl::StrCat("token issuer ", issuer.name(), ": ", keys.status().message()));
    }
    rules.push_back(
        {issuer.name(), issuer.issuer(), {issuer.audiences().begin(), issuer.audiences().end()}, *std::move(keys)});
  }
  return std::make_shared<TokenIssuers>(std::move(rules), [] { return absl::Now(); });
}

}  // namespace

absl::StatusOr<Loaded> LoadSnapshot(const ConfigSnapshot& snapshot, TokenKeyPool& token_keys, const Config* in_force) {
  ABSL_ASSIGN_OR_RETURN(ParsedConfig parsed, ParseConfig(snapshot, OperationSet::BuiltIn(), in_force));
  const config::v1::Config& config = *parsed.config;
  auto access = std::make_shared<Access>();
  std::string public_keys;
  for (int i = 0; i < config.keys_size(); ++i) {
    absl::StrAppend(&public_keys, parsed.signers[i]->public_key_hex(), "\n");
    access->keys.Add(config.keys(i), std::move(parsed.signers[i]));
  }
  std::string key_sets;
  for (const config::v1::TokenIssuer& issuer : config.token_issuers()) {
    if (issuer.jwks_file().empty()) continue;
    absl::StrAppend(&key_sets, snapshot.contents.Public(issuer.jwks_file()).value_or(""), "\n");
  }
  access->operations = parsed.config.operations();
  access->operations_sha256 = DigestOf(access->operations->set());
  access->callers = CallerDirectory(config, access->operations->set(), parsed.config.organizations());
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<TokenVerifier> tokens,
                        MakeTokenVerifier(config, std::move(parsed.key_sets), token_keys));
  access->tokens = std::move(tokens);
  access->settings = ReloadedPart(config);
  access->version = VersionOf(parsed.config, *access, public_keys, key_sets);
  return Loaded{std::move(parsed.config), std::move(access)};
}

absl::StatusOr<Loaded> Load(ConfigSource& source, TokenKeyPool& token_keys) {
  ABSL_RETURN_IF_ERROR(InitializeKeyMemory());
  ABSL_ASSIGN_OR_RETURN(const ConfigSource::Reading reading, source.Read(ConfigFiles::kAll));
  return LoadSnapshot(reading.snapshot.value(), token_keys);  // the first reading waits for no file
}

absl::StatusOr<Config> LoadPolicy(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const ConfigSource::Reading reading, ConfigSource(path).Read(ConfigFiles::kPolicy));
  ABSL_ASSIGN_OR_RETURN(ParsedConfig parsed, ParseConfig(reading.snapshot.value()));
  return std::move(parsed.config);
}

}  // namespace stampgate
