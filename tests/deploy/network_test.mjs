// Each pod of the manifests can open the connections that it needs, and no others, where a network plugin enforces the
// NetworkPolicies.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { find, folder, parse, podOf, readAll } from './manifests.mjs';
import { allows } from './network.mjs';

const overlay = join(folder, 'replicas');

/** All objects of base, example and replicas. */
const everything = () => [
  ...readAll(),
  ...readdirSync(overlay)
    .filter((name) => !['kustomization.yaml', 'stateful_set_patch.yaml'].includes(name))
    .flatMap((name) => parse(readFileSync(join(overlay, name), 'utf8'))),
];

/** The pods that the manifests create in the gateway's namespace, by the name of their workload. */
function podsOf(objects) {
  const workloads = objects.filter(({ spec }) => spec?.template);
  return Object.fromEntries(
    workloads.map(({ metadata: { name, namespace }, spec: { template } }) => {
      const ports = template.spec.containers.flatMap((container) => container.ports ?? []);
      const named = Object.fromEntries(ports.map((port) => [port.name, port.containerPort]));
      return [name, { namespace, labels: template.metadata.labels, ports: named }];
    }),
  );
}

const DNS = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } };
const DATABASE = { namespace: 'stampgate-database', labels: { 'cnpg.io/cluster': 'stampgate-database' } };
const CALLER = {
  namespace: 'payments',
  namespaceLabels: { 'stampgate-caller': 'true' },
  labels: { 'stampgate-caller': 'true' },
};
const INGRESS = { namespace: 'ingress-nginx', labels: { 'app.kubernetes.io/name': 'ingress-nginx' } };
const PROMETHEUS = { namespace: 'monitoring', labels: { 'app.kubernetes.io/name': 'prometheus' } };
/** A pod that somebody starts in the namespace of the gateways. */
const OTHER = { namespace: 'stampgate', labels: { app: 'other' } };
const STRANGER = { namespace: 'default', labels: { app: 'stranger' } };
const UPSTREAM = '203.0.113.7';
const NODE = '10.0.0.9';
const METADATA = '169.254.169.254';

/** Defines a test: `check` passes for the manifests, and fails after each change in `breaks`. */
function fact(name, check, ...breaks) {
  it(name, () => {
    check(everything());
    for (const breakIt of breaks) {
      const broken = everything();
      breakIt(broken);
      assert.throws(() => check(broken), assert.AssertionError, `the check does not detect ${breakIt}`);
    }
  });
}

const policy = (objects, name) => find(objects, 'NetworkPolicy', name);
const onlyGateways = { matchLabels: { 'app.kubernetes.io/name': 'stampgate' } };

describe('where policies are enforced', () => {
  fact(
    'each pod in the namespace of the gateways can resolve names',
    (objects) => {
      const pods = podsOf(objects);
      assert.deepEqual(Object.keys(pods).sort(), ['stampgate', 'stampgate-migration']);
      for (const [name, pod] of Object.entries(pods)) {
        for (const protocol of ['UDP', 'TCP']) assert.ok(allows(objects, pod, DNS, { protocol, port: 53 }), name);
      }
    },
    // The policy as it was: the migration never ended, because it could not resolve the name of the database.
    (objects) => (policy(objects, 'dns').spec.podSelector = onlyGateways),
    (objects) => policy(objects, 'dns').spec.egress[0].ports.splice(0, 1),
    (objects) => objects.splice(objects.indexOf(policy(objects, 'dns')), 1),
  );

  fact(
    'each pod whose command uses the database can reach it, and nothing else can',
    (objects) => {
      const { stampgate, 'stampgate-migration': migration } = podsOf(objects);
      for (const pod of [stampgate, migration]) {
        assert.ok(allows(objects, pod, DATABASE, { port: 5432 }));
        assert.ok(!allows(objects, pod, DATABASE, { port: 8000 }));
        assert.ok(!allows(objects, pod, { ...DATABASE, namespace: 'default' }, { port: 5432 }));
      }
      assert.ok(!allows(objects, OTHER, DATABASE, { port: 5432 }));
    },
    (objects) => (policy(objects, 'database').spec.podSelector = onlyGateways),
    (objects) => (policy(objects, 'database').spec.podSelector = {}),
    (objects) => delete policy(objects, 'database').spec.egress[0].ports,
  );

  fact(
    'only the gateways reach upstream, and they reach neither the cluster nor the metadata of the cloud',
    (objects) => {
      const { stampgate, 'stampgate-migration': migration } = podsOf(objects);
      assert.ok(allows(objects, stampgate, UPSTREAM, { port: 443 }));
      assert.ok(allows(objects, stampgate, '2001:db8::7', { port: 443 }));
      assert.ok(!allows(objects, stampgate, UPSTREAM, { port: 80 }));
      for (const address of [NODE, METADATA, 'fd00::1']) assert.ok(!allows(objects, stampgate, address, { port: 443 }));
      for (const pod of [migration, OTHER]) assert.ok(!allows(objects, pod, UPSTREAM, { port: 443 }));
      assert.ok(!allows(objects, stampgate, STRANGER, { port: 443 }));
    },
    (objects) => (policy(objects, 'upstream').spec.podSelector = {}),
    (objects) => delete policy(objects, 'upstream').spec.egress[0].to,
    (objects) => delete policy(objects, 'upstream').spec.egress[0].to[0].ipBlock.except,
  );

  fact(
    'each port of a gateway is open to its own clients only',
    (objects) => {
      const { stampgate, 'stampgate-migration': migration } = podsOf(objects);
      const clients = { 7443: CALLER, 8080: INGRESS, 8081: PROMETHEUS };
      assert.deepEqual(Object.values(stampgate.ports), Object.keys(clients).map(Number));
      for (const client of [CALLER, INGRESS, PROMETHEUS, STRANGER, migration, { ...CALLER, namespaceLabels: {} }]) {
        for (const [port, expected] of Object.entries(clients)) {
          assert.equal(allows(objects, client, stampgate, { port: Number(port) }), client === expected, port);
        }
        assert.ok(!allows(objects, client, migration, { port: 7443 }));
      }
    },
    (objects) => delete policy(objects, 'grpc-from-callers').spec.ingress[0].from[0].namespaceSelector,
    (objects) => delete policy(objects, 'webhooks-from-ingress').spec.ingress[0].ports,
    (objects) => (podOf(objects).containers[0].ports[2].containerPort = 9000),
    (objects) => policy(objects, 'default-deny').spec.policyTypes.shift(),
  );
});

describe('the migration', () => {
  fact(
    'is created again only for a new version, also by Argo CD and Flux',
    (objects) => {
      const { metadata, spec } = find(objects, 'Job', 'stampgate-migration');
      // A tool that compares the cluster with the manifests would create a deleted job again.
      assert.equal(spec.ttlSecondsAfterFinished, undefined);
      assert.deepEqual(metadata.annotations, {
        'argocd.argoproj.io/hook': 'Sync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
        'kustomize.toolkit.fluxcd.io/force': 'enabled',
      });
    },
    (objects) => (find(objects, 'Job', 'stampgate-migration').spec.ttlSecondsAfterFinished = 600),
    (objects) => delete find(objects, 'Job', 'stampgate-migration').metadata.annotations,
  );
});
