package stampgate

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"

	"stampgate.dev/client/stampgatev1"
)

// ErrSignature is the error of Verify for an event whose signature does not fit.
var ErrSignature = errors.New("the signature of the event does not fit")

// VerificationKeys returns the Ed25519 keys in the response of WebhookService.GetWebhookKeySet, by their ids.
func VerificationKeys(set *stampgatev1.GetWebhookKeySetResponse) map[string]ed25519.PublicKey {
	keys := map[string]ed25519.PublicKey{}
	for _, key := range set.GetKeys() {
		bytes, err := base64.RawURLEncoding.DecodeString(key.GetX())
		if err == nil && len(bytes) == ed25519.PublicKeySize && key.GetCrv() == "Ed25519" {
			keys[key.GetKid()] = bytes
		}
	}
	return keys
}

// Verify checks upstream's signature of an event again. The keys must come from a source that the subscriber trusts. A
// valid signature does not prove that the event concerns your organization: check the organization too. If
// event.BodyOmitted is true, first set event.Body to the bytes that EventService.ReadEventBody returns.
func Verify(event *stampgatev1.Event, keys map[string]ed25519.PublicKey) error {
	signature := event.GetSignature()
	key := keys[signature.GetKeyId()]
	if len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("there is no key %q to verify the event", signature.GetKeyId())
	}
	text := fmt.Appendf(nil, "v1.ed25519.%s.%s.%s.", signature.GetKeyId(), signature.GetTimestamp(), event.GetEventId())
	if !ed25519.Verify(key, append(text, event.GetBody()...), signature.GetSignature()) {
		return ErrSignature
	}
	return nil
}
