#include "gateway/callers/authenticator.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/secret/sha256.h"
#include "gateway/audit/record.h"
#include "gateway/callers/metadata.h"
#include "gateway/callers/peer_of_call.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using absl::StatusCode;

constexpr char kAuthorization[] = "authorization";
constexpr absl::string_view kScheme = "bearer ";

// Returns UNAUTHENTICATED (CALLER_NOT_RECOGNIZED). The member `seen` of ErrorInfo.metadata contains the identity that
// `peer` has shown, in the form of StrangerName. ToStatus limits the length of this text.
absl::Status NotRecognized(const Peer& peer, absl::string_view why) {
  Error error = GatewayError(StatusCode::kUnauthenticated, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED, std::string(why));
  error.metadata.emplace_back("seen", AuditValue(StrangerName(peer)));
  return ToStatus(error);
}

// Returns the call's bearer token, or nullopt if the call has no authorization entry. Returns an error if the call has
// several authorization entries, or if the entry is not a bearer token.
absl::StatusOr<std::optional<std::string>> TokenOf(const grpc::CallbackServerContext& context, const Peer& peer) {
  const auto [begin, end] = context.client_metadata().equal_range(kAuthorization);
  if (begin == end) return std::nullopt;
  if (std::next(begin) != end) return NotRecognized(peer, "authorization is given more than once");
  const absl::string_view value(begin->second.data(), begin->second.size());
  if (!absl::StartsWithIgnoreCase(value, kScheme) || value.size() == kScheme.size())
    return NotRecognized(peer, "authorization is not of the form Bearer TOKEN");
  return std::string(value.substr(kScheme.size()));
}

const Caller* WithoutToken(const CallerDirectory::Callers& callers) {
  const auto found = absl::c_find_if(callers, [](const Caller* caller) { return !caller->wants_token(); });
  return found == callers.end() ? nullptr : *found;
}

}  // namespace

void Authenticate(const CurrentAccess& current, const grpc::CallbackServerContext& context,
                  absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done) {
  if (absl::Status metadata = CheckMetadata(context.client_metadata()); !metadata.ok()) return done(metadata);
  std::shared_ptr<const Access> access = current.Get();
  const Peer peer = PeerOf(context);
  CallerDirectory::Callers callers = access->callers.Find(peer);
  if (callers.empty()) return done(NotRecognized(peer, "no configured caller has this identity"));
  // A certificate can match several callers that need no token. The gateway then cannot know which of them calls.
  if (absl::c_count_if(callers, [](const Caller* caller) { return !caller->wants_token(); }) > 1) {
    return done(NotRecognized(peer, "the certificate matches several callers"));
  }
  const Caller* plain = WithoutToken(callers);
  // Ignores a token that this caller does not need, because service meshes and proxies forward such tokens.
  if (plain != nullptr && callers.size() == 1) return done(KnownCaller{std::move(access), plain});

  const absl::StatusOr<std::optional<std::string>> token = TokenOf(context, peer);
  if (!token.ok()) return done(token.status());
  if (!token->has_value()) {
    if (plain == nullptr) return done(NotRecognized(peer, "a bearer token is required"));
    return done(KnownCaller{std::move(access), plain});
  }
  const Caller* known = nullptr;
  const std::array<uint8_t, 32> digest = Sha256(**token);
  for (const Caller* caller : callers) {
    if (caller->HasToken(digest)) known = caller;
  }
  if (known != nullptr) return done(KnownCaller{std::move(access), known});
  if (access->tokens == nullptr) return done(NotRecognized(peer, "the bearer token is unknown"));
  TokenVerifier& verifier = *access->tokens;
  verifier.Verify(**token, [access = std::move(access), callers = std::move(callers), peer,
                            done = std::move(done)](absl::StatusOr<VerifiedToken> verified) mutable {
    if (absl::IsUnavailable(verified.status())) {
      Error error = GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED,
                                 std::string(verified.status().message()));
      error.retry_delay = absl::Seconds(1);
      return done(ToStatus(error));
    }
    if (!verified.ok()) return done(NotRecognized(peer, verified.status().message()));
    for (const Caller* caller : callers) {
      if (!caller->HasSubject(verified->issuer, verified->subject)) continue;
      return done(KnownCaller{std::move(access), caller, verified->until});
    }
    done(NotRecognized(peer, "the bearer token belongs to no configured caller"));
  });
}

}  // namespace stampgate
