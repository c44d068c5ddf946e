// The pod of the manifests satisfies the "restricted" profile, and each rule detects a pod that breaks it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { find, podOf, readAll } from './manifests.mjs';
import { RESTRICTED, violations } from './pod_security.mjs';

// Changes that break each rule: in the pod, in its container, or in an added init container.
const container = (pod) => pod.containers[0];
const added = (pod, securityContext) => (pod.initContainers = [{ name: 'added', image: 'x:1.0.0', securityContext }]);

const BREAKS = {
  hostProcess: [
    (pod) => (pod.securityContext.windowsOptions = { hostProcess: true }),
    (pod) => (container(pod).securityContext.windowsOptions = { hostProcess: true }),
  ],
  hostNamespaces: ['hostNetwork', 'hostPID', 'hostIPC'].map((name) => (pod) => (pod[name] = true)),
  privileged: [(pod) => (container(pod).securityContext.privileged = true)],
  hostPorts: [(pod) => (container(pod).ports[0].hostPort = 7443)],
  probeHosts: [
    (pod) => (container(pod).livenessProbe.httpGet.host = '169.254.169.254'),
    (pod) => (container(pod).readinessProbe = { tcpSocket: { port: 1, host: '10.0.0.1' } }),
    (pod) => (container(pod).lifecycle.preStop = { httpGet: { port: 1, host: '10.0.0.1' } }),
  ],
  appArmor: [(pod) => (container(pod).securityContext.appArmorProfile = { type: 'Unconfined' })],
  seLinux: [
    (pod) => (pod.securityContext.seLinuxOptions = { type: 'spc_t' }),
    (pod) => (container(pod).securityContext.seLinuxOptions = { user: 'system_u' }),
  ],
  procMount: [(pod) => (container(pod).securityContext.procMount = 'Unmasked')],
  sysctls: [(pod) => (pod.securityContext.sysctls = [{ name: 'kernel.msgmax', value: '1' }])],
  volumeTypes: [
    (pod) => pod.volumes.push({ name: 'node', hostPath: { path: '/' } }),
    (pod) => pod.volumes.push({ name: 'share', nfs: { server: 'a', path: '/' } }),
  ],
  privilegeEscalation: [
    (pod) => delete container(pod).securityContext.allowPrivilegeEscalation,
    (pod) => (container(pod).securityContext.allowPrivilegeEscalation = true),
    (pod) => added(pod, { capabilities: { drop: ['ALL'] } }),
  ],
  runAsNonRoot: [
    (pod) => delete pod.securityContext.runAsNonRoot,
    (pod) => (container(pod).securityContext.runAsNonRoot = false),
  ],
  runAsUser: [(pod) => (pod.securityContext.runAsUser = 0), (pod) => (container(pod).securityContext.runAsUser = 0)],
  seccomp: [
    (pod) => delete pod.securityContext.seccompProfile,
    (pod) => (container(pod).securityContext.seccompProfile = { type: 'Unconfined' }),
  ],
  capabilities: [
    (pod) => delete container(pod).securityContext.capabilities,
    (pod) => (container(pod).securityContext.capabilities.add = ['SYS_PTRACE']),
    (pod) => (container(pod).securityContext.capabilities.drop = ['NET_RAW']),
    (pod) => added(pod, { allowPrivilegeEscalation: false }),
  ],
};

describe('the restricted profile', () => {
  it('is satisfied by the pod', () => {
    assert.deepEqual(violations(podOf(readAll())), {});
  });

  for (const name of Object.keys(RESTRICTED)) {
    it(`refuses a pod that breaks ${name}`, () => {
      assert.ok(BREAKS[name]?.length > 0, `BREAKS has no change for ${name}`);
      for (const breakIt of BREAKS[name]) {
        const pod = podOf(readAll());
        breakIt(pod);
        assert.deepEqual(Object.keys(violations(pod)), [name], String(breakIt));
      }
    });
  }

  it('is what the namespace enforces', () => {
    const { labels } = find(readAll(), 'Namespace').metadata;
    for (const mode of ['enforce', 'warn', 'audit']) {
      assert.equal(labels[`pod-security.kubernetes.io/${mode}`], 'restricted');
    }
  });
});
