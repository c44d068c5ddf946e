// A caller on the node, whose connections no network policy blocks.
import { call, connect, stream } from '../clients/gateway.mjs';
import { kubectl } from './kubectl.mjs';

/**
 * Connects to the gateway in a pod, with the caller's certificate.
 * @param {import('./installation.mjs').Installation} installation
 */
export async function connectTo({ caller }, pod = 'stampgate-0') {
  const host = await kubectl('get', `pod/${pod}`, '--namespace=stampgate', '--output=jsonpath={.status.podIP}');
  const client = connect(`${host}:7443`, {
    tls: { ca: caller['ca.crt'], cert: caller['tls.crt'], key: caller['tls.key'] },
    'grpc.ssl_target_name_override': 'stampgate.stampgate.svc',
  });
  return {
    call: (method, request) => call(client, method, request),
    stream: (method, request, options) => stream(client, method, request, options),
    close: () => client.close(),
  };
}
