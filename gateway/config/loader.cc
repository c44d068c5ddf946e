#include "gateway/config/loader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/tokens/issuers.h"
#include "gateway/tokens/key_set.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/secret/file.h"
#include "stamp/secret/memory.h"
#include "stamp/secret/sha256.h"

namespace stampgate {
namespace {

// Equal messages give equal bytes.
std::string SerializeDeterministically(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&output);
  output.Trim();
  return bytes;
}

// Of everything that Access holds. Not secret: it stands in logs and in the audit.
std::string VersionOf(const config::v1::Config& config, absl::string_view public_keys, absl::string_view key_sets) {
  config::v1::Config access;
  *access.mutable_keys() = config.keys();
  *access.mutable_callers() = config.callers();
  *access.mutable_token_issuers() = config.token_issuers();
  const auto digest = Sha256(absl::StrCat(SerializeDeterministically(access), public_keys, key_sets));
  constexpr size_t kBytes = 8;
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), kBytes));
}

// Adds what it reads to `key_set`.
absl::StatusOr<std::shared_ptr<TokenKeys>> KeysOf(const config::v1::TokenIssuer& issuer, TokenKeyPool& token_keys,
                                                  std::string& key_set) {
  if (issuer.jwks_file().empty()) return token_keys.Get(issuer);
  const absl::StatusOr<std::string> text = ReadPublicFile(issuer.jwks_file());
  if (!text.ok()) return text.status();
  absl::StrAppend(&key_set, *text, "\n");
  absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(*text);
  if (!set.ok()) return set.status();
  return MakeFixedTokenKeys(*std::move(set));
}

// Null if no issuer is configured. Adds the key sets that it reads to `key_sets`.
absl::StatusOr<std::shared_ptr<TokenVerifier>> MakeTokenVerifier(const config::v1::Config& config,
                                                                 TokenKeyPool& token_keys, std::string& key_sets) {
  if (config.token_issuers().empty()) return nullptr;
  std::vector<TokenIssuerRule> rules;
  for (const config::v1::TokenIssuer& issuer : config.token_issuers()) {
    absl::StatusOr<std::shared_ptr<TokenKeys>> keys = KeysOf(issuer, token_keys, key_sets);
    if (!keys.ok()) {
      return absl::Status(keys.status().code(),
                          absl::StrCat("token issuer ", issuer.name(), ": ", keys.status().message()));
    }
    rules.push_back({issuer.name(), issuer.issuer(), {issuer.audiences().begin(), issuer.audiences().end()}, *keys});
  }
  return std::make_shared<TokenIssuers>(std::move(rules), [] { return absl::Now(); });
}

absl::StatusOr<Loaded> ReadOnce(const std::string& path, TokenKeyPool& token_keys, ConfigFiles files) {
  if (absl::Status status = InitializeKeyMemory(); !status.ok()) return status;
  auto access = std::make_shared<Access>();
  std::string public_keys;
  const auto open_key = [&](const config::v1::Key& key) -> absl::StatusOr<std::string> {
    absl::StatusOr<PrivateKey> secret = ReadKeyFile(key.file());
    if (!secret.ok()) return secret.status();
    absl::StatusOr<std::shared_ptr<const Signer>> signer = MakeSigner(*std::move(secret));
    if (!signer.ok()) return signer.status();
    access->keys.Add(key, *signer);
    absl::StrAppend(&public_keys, (*signer)->public_key_hex(), "\n");
    return std::string((*signer)->public_key_hex());
  };
  absl::StatusOr<Config> config = LoadConfig(path, open_key, files);
  if (!config.ok()) return config.status();
  access->callers = CallerDirectory(**config);
  std::string key_sets;
  absl::StatusOr<std::shared_ptr<TokenVerifier>> tokens = MakeTokenVerifier(**config, token_keys, key_sets);
  if (!tokens.ok()) return tokens.status();
  access->tokens = *std::move(tokens);
  access->version = VersionOf(**config, public_keys, key_sets);
  return Loaded{*std::move(config), std::move(access)};
}

bool Agree(const absl::StatusOr<Loaded>& one, const absl::StatusOr<Loaded>& other) {
  if (!one.ok() || !other.ok()) return one.status() == other.status();
  return one->access->version == other->access->version;
}

}  // namespace

absl::StatusOr<Loaded> Load(const std::string& path, TokenKeyPool& token_keys, ConfigFiles files,
                            absl::string_view known_version) {
  constexpr int kMostReadings = 10;
  absl::StatusOr<Loaded> loaded = ReadOnce(path, token_keys, files);
  for (int readings = 1; readings < kMostReadings; ++readings) {
    if (loaded.ok() && loaded->access->version == known_version) return loaded;
    absl::StatusOr<Loaded> again = ReadOnce(path, token_keys, files);
    if (Agree(loaded, again)) return again;
    loaded = std::move(again);
  }
  return absl::AbortedError(absl::StrCat(path, ": changes faster than it can be read"));
}

}  // namespace stampgate
