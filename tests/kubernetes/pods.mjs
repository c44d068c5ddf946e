// Pods that run the caller.

/** The profile `restricted`, as the namespace of the gateway enforces it. */
export const RESTRICTED = {
  pod: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
  container: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
};

/** The label with which a pod may call the gateway. */
export const CALLS = { 'stampgate-caller': 'true' };

/**
 * The pod template of a caller with these arguments. With `hasCertificate`, it has the secret with the certificate.
 */
export const callerTemplate = (args, { labels = {}, hasCertificate = false } = {}) => ({
  metadata: { labels },
  spec: {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    securityContext: RESTRICTED.pod,
    containers: [
      {
        name: 'caller',
        image: 'node.local/caller:1',
        args,
        securityContext: RESTRICTED.container,
        volumeMounts: hasCertificate ? [{ name: 'tls', mountPath: '/tls', readOnly: true }] : [],
      },
    ],
    volumes: hasCertificate ? [{ name: 'tls', secret: { secretName: 'caller' } }] : [],
  },
});

/** A pod that runs the caller. */
export function callerPod(namespace, name, args, options) {
  const { metadata, spec } = callerTemplate(args, options);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, namespace, name }, spec };
}
