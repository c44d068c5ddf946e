// Stamps requests as an end user with an API key does.
import { encode } from '../clients/gateway.mjs';
import { apiKeyNamed, stampOf } from '../simulator/testing.mjs';

/** Lets the gateway prepare `request`, stamps the prepared body with this key, and returns the request for `method`. */
export async function stampedBy(apiKey, gateway, method, request) {
  const { body } = await gateway.call('StampService/Prepare', { method, request: encode(method, request) });
  return { client_stamp: { body, api_key: stampOf(body, apiKey) } };
}

/**
 * The request of one of `operations` as a client can send it: with a stamp, if the client must make one. The stamp is
 * made with the gateway's own key, so that upstream responds as for the gateway's own requests.
 */
export const asSent = async (gateway, { method, stampedByClient }, request) =>
  stampedByClient ? stampedBy(apiKeyNamed('gateway p256'), gateway, method, request) : request;
