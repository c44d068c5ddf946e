// A caller on the node, whose connections no network policy blocks.
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { call, connect, stream } from '../clients/gateway.mjs';
import { SERVER_NAME } from './installation.mjs';
import { kubectl } from './kubectl.mjs';

/** The address of a gateway's pod. */
export const hostOf = (pod) =>
  kubectl('get', `pod/${pod}`, '--namespace=stampgate', '--output=jsonpath={.status.podIP}');

/**
 * Connects to the gateway in a pod.
 * @param {{caller: Record<string, Buffer>}} options the files of the caller's secret, such as those of an Installation
 */
export async function connectTo({ caller }, pod = 'stampgate-0') {
  const client = connect(`${await hostOf(pod)}:7443`, {
    tls: { ca: caller['ca.crt'], cert: caller['tls.crt'], key: caller['tls.key'] },
    'grpc.ssl_target_name_override': SERVER_NAME,
  });
  return {
    call: (method, request) => call(client, method, request),
    stream: (method, request, options) => stream(client, method, request, options),
    close: () => client.close(),
  };
}

/** The fingerprint of the certificate that the gateway in a pod presents. */
export async function presented(pod = 'stampgate-0') {
  const socket = connectTls({ host: await hostOf(pod), port: 7443, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
