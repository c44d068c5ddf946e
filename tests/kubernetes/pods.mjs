// Pods that run the caller.

/** The profile `restricted`, as the namespace of the gateway enforces it. */
export const RESTRICTED = {
  pod: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
  container: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
};

/** The label with which a pod may call the gateway. */
export const CALLS = { 'stampgate-caller': 'true' };

/** The certificate of the caller, in the container that makes TLS connections. */
const certificate = { name: 'tls', mountPath: '/tls', readOnly: true };

/**
 * The pod template of a caller with these arguments.
 * @param {string[]} args
 * @param {object} [options]
 * @param {Record<string, string>} [options.labels]
 * @param {boolean} [options.hasCertificate] whether the pod has the secret with the certificate
 * @param {{container: any, volume: any}} [options.sidecar] starts before the caller, and gets the certificate in its place
 */
export function callerTemplate(args, { labels = {}, hasCertificate = false, sidecar } = {}) {
  const { container: securityContext } = RESTRICTED;
  const caller = { name: 'caller', image: 'node.local/caller:1', args, securityContext, volumeMounts: [] };
  const spec = {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    securityContext: RESTRICTED.pod,
    initContainers: [],
    containers: [caller],
    volumes: [],
  };
  let holder = caller;
  if (sidecar) {
    holder = { ...sidecar.container, securityContext, restartPolicy: 'Always' };
    spec.initContainers.push(holder);
    spec.volumes.push(sidecar.volume);
  }
  if (hasCertificate) {
    holder.volumeMounts = [...holder.volumeMounts, certificate];
    spec.volumes.push({ name: 'tls', secret: { secretName: 'caller' } });
  }
  return { metadata: { labels }, spec };
}

/** A pod that runs the caller. */
export function callerPod(namespace, name, args, options) {
  const { metadata, spec } = callerTemplate(args, options);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, namespace, name }, spec };
}
