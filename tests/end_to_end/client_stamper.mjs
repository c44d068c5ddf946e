// End users who stamp with an API key of their own.
import { encode } from '../clients/gateway.mjs';
import { apiKeyNamed, stampOf } from '../simulator/testing.mjs';

/** The request of `method` for which the gateway prepares `request`, with the stamp of this key. */
export async function stampedBy(apiKey, gateway, method, request) {
  const { body } = await gateway.call('StampService/Prepare', { method, request: encode(method, request) });
  return { client_stamp: { body, api_key: stampOf(body, apiKey) } };
}

/**
 * The request of one of `operations`, as it may be sent: with a stamp, where the client must bring one. It is by the
 * gateway's own key, so that what comes of it is as with all others.
 */
export const asSent = async (gateway, { method, stampedByClient }, request) =>
  stampedByClient ? stampedBy(apiKeyNamed('gateway p256'), gateway, method, request) : request;
