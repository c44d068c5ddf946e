// The signatures of events.
import { createPublicKey, verify as isSignedBy } from 'node:crypto';
import type { Event, WebhookKey } from './v1.js';

/**
 * Whether upstream has signed the event with one of these keys, which `WebhookService.getWebhookKeySet` returns. A valid
 * signature does not prove that the event concerns your organization: check `organizationId`.
 * @param body the whole body, which `EventService.readEventBody` returns, if `event.bodyOmitted` is true
 */
export function verify(event: Event, keys: readonly Pick<WebhookKey, 'kid' | 'x'>[], body = event.body): boolean {
  const { eventId, signature } = event;
  const key = keys.find(({ kid }) => kid === signature?.keyId);
  if (!signature || !key) return false;
  const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: key.x } });
  const head = `v1.ed25519.${signature.keyId}.${signature.timestamp}.${eventId}.`;
  return isSignedBy(null, Buffer.concat([Buffer.from(head), body]), publicKey, signature.signature);
}
