// An Envoy beside a caller, as a service mesh has one: the caller makes plaintext connections to it, and it makes mTLS
// connections to the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { yaml } from '../deploy/manifests.mjs';
import { root } from '../paths.mjs';
import { GATEWAY, SERVER_NAME } from './installation.mjs';
import { apply } from './kubectl.mjs';

/** The address on which the config has Envoy listen for callers. */
export const LISTENER = '127.0.0.1:7444';
const ADMIN_PORT = 9901;
const TYPES = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';

const file = (filename) => ({ filename });

/** The config of tests/conformance, with the gateway's service, mTLS and the port of the probe. */
function config() {
  const read = yaml.parse(readFileSync(join(root, 'tests/conformance/envoy/envoy.yaml'), 'utf8'));
  const [cluster] = read.static_resources.clusters;
  const [address, port] = GATEWAY.split(':');
  const endpoint = { address: { socket_address: { address, port_value: Number(port) } } };
  Object.assign(cluster, {
    type: 'STRICT_DNS',
    load_assignment: { cluster_name: cluster.name, endpoints: [{ lb_endpoints: [{ endpoint }] }] },
    transport_socket: {
      name: 'tls',
      typed_config: {
        '@type': `${TYPES}.UpstreamTlsContext`,
        sni: SERVER_NAME,
        common_tls_context: {
          alpn_protocols: ['h2'],
          tls_certificates: [{ certificate_chain: file('/tls/tls.crt'), private_key: file('/tls/tls.key') }],
          validation_context: {
            trusted_ca: file('/tls/ca.crt'),
            match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: SERVER_NAME } }],
          },
        },
      },
    },
  });
  read.admin = { address: { socket_address: { address: '0.0.0.0', port_value: ADMIN_PORT } } };
  return read;
}

/** The settings of the route to the gateway. */
export const routeOf = ({ static_resources: { listeners } }) =>
  listeners[0].filter_chains[0].filters[0].typed_config.route_config.virtual_hosts[0].routes[0].route;

/**
 * Stores the config in the namespace of callers, and returns a sidecar with it, for a pod's template.
 * @param {string} name
 * @param {(config: any) => void} [change]
 */
export async function makeSidecar(name, change = () => {}) {
  const changed = config();
  change(changed);
  const metadata = { namespace: 'payments', name };
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'envoy.json': JSON.stringify(changed) } });
  return {
    container: {
      name: 'envoy',
      image: 'node.local/envoy:1',
      command: ['envoy', '--config-path', '/etc/envoy/envoy.json', '--concurrency', '1'],
      startupProbe: { httpGet: { path: '/ready', port: ADMIN_PORT }, periodSeconds: 1 },
      volumeMounts: [{ name: 'envoy', mountPath: '/etc/envoy' }],
    },
    volume: { name: 'envoy', configMap: { name } },
  };
}
