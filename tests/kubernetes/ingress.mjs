// An ingress controller: Contour, with its own manifests. Its Envoy forwards what comes from outside of the cluster, as an
// Ingress or an HTTPRoute says.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../end_to_end/harness.mjs';
import { apply, ctr, kubectl, putSecret } from './kubectl.mjs';

const NAMESPACE = 'projectcontour';
const inNamespace = `--namespace=${NAMESPACE}`;

/** The class of an Ingress and of the Gateway. */
export const CLASS = 'contour';

/** The Gateway of an HTTPRoute. */
export const GATEWAY = { name: 'contour', namespace: NAMESPACE };

/** Its pods that forward requests, for the network policies. */
export const PEER = {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
  podSelector: { matchLabels: { app: 'envoy' } },
};

/**
 * Imports the images in the folder `images`, starts the controller, and makes the host name lead to it, for this process
 * and all others of the node. `certificate` is the Gateway's. The files end with `t`.
 */
export async function startIngress(t, images, host, certificate) {
  for (const name of ['contour', 'envoy']) await ctr('images', 'import', join(images, `${name}.tar`));
  const folder = scratch(t);
  const manifests = join(folder, 'contour.yaml');
  const text = readFileSync(join(images, 'contour.yaml'), 'utf8')
    .replace(/image: \S+\/contour:\S+/g, 'image: node.local/contour:1')
    .replace(/image: \S+\/envoy:\S+/g, 'image: node.local/envoy:1')
    // On this node, the port 443 is upstream's.
    .replace(/^ *hostPort: .*\n/gm, '');
  writeFileSync(manifests, text);
  await kubectl('apply', '--server-side', `--filename=${manifests}`);
  await putSecret(NAMESPACE, 'gateway', certificate, 'kubernetes.io/tls');
  const tls = { certificateRefs: [{ name: 'gateway' }] };
  const allowedRoutes = { namespaces: { from: 'All' } };
  const listeners = [
    { name: 'http', protocol: 'HTTP', port: 80, allowedRoutes },
    { name: 'https', protocol: 'HTTPS', port: 443, tls, allowedRoutes },
  ];
  const apiVersion = 'gateway.networking.k8s.io/v1';
  const controllerName = 'projectcontour.io/gateway-controller';
  await apply(
    { apiVersion, kind: 'GatewayClass', metadata: { name: CLASS }, spec: { controllerName } },
    { apiVersion, kind: 'Gateway', metadata: GATEWAY, spec: { gatewayClassName: CLASS, listeners } },
  );
  await kubectl('rollout', 'status', 'deployment/contour', inNamespace, '--timeout=120s');
  await kubectl('rollout', 'status', 'daemonset/envoy', inNamespace, '--timeout=120s');
  const address = await kubectl('get', 'service/envoy', inNamespace, '--output=jsonpath={.spec.clusterIP}');
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, `${readFileSync('/etc/hosts', 'utf8')}\n${address} ${host}\n`);
  execFileSync('mount', ['--bind', hosts, '/etc/hosts']);
}
