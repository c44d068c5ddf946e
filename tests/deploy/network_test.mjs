// Each pod of the manifests can open the connections that it needs, and no others, where a network plugin enforces the
// NetworkPolicies.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { everything, find, podOf, podsOf, variants } from './manifests.mjs';
import { allows } from './network.mjs';

/** The pods that the manifests create in the gateway's namespace, by the name of their workload. */
const endsOf = (objects) =>
  Object.fromEntries(
    Object.entries(podsOf(objects)).map(([name, { metadata, spec }]) => {
      const ports = spec.containers.flatMap((container) => container.ports ?? []);
      const named = Object.fromEntries(ports.map((port) => [port.name, port.containerPort]));
      return [name, { namespace: 'stampgate', labels: metadata.labels, ports: named }];
    }),
  );

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

/** Defines tests: `check` passes for the manifests of several gateways, and fails after each change in `breaks`. */
function fact(name, check, ...breaks) {
  for (const { name: of, store, skip, read } of [...variants, everything]) {
    if (store === 'sqlite') continue;
    it(`${name} (${of})`, { skip }, () => {
      check(read());
      for (const breakIt of breaks) {
        const broken = read();
        breakIt(broken);
        assert.throws(() => check(broken), assert.AssertionError, `the check does not detect ${breakIt}`);
      }
    });
  }
}

const policy = (objects, name) => find(objects, 'NetworkPolicy', name);
const remove = (objects, name) => objects.splice(objects.indexOf(policy(objects, name)), 1);

describe('where policies are enforced', () => {
  fact(
    'each pod in the namespace of the gateways can resolve names',
    (objects) => {
      const pods = endsOf(objects);
      for (const name of ['stampgate', 'stampgate-migration']) assert.ok(pods[name]);
      for (const [name, pod] of Object.entries(pods)) {
        for (const protocol of ['UDP', 'TCP']) assert.ok(allows(objects, pod, DNS, { protocol, port: 53 }), name);
      }
    },
    (objects) => policy(objects, 'dns').spec.egress[0].ports.splice(0, 1),
    (objects) => remove(objects, 'dns'),
  );

  fact(
    'each pod whose command uses the database can reach it, and nothing else can',
    (objects) => {
      const { stampgate, 'stampgate-migration': migration } = endsOf(objects);
      for (const pod of [stampgate, migration]) {
        assert.ok(allows(objects, pod, DATABASE, { port: 5432 }));
        assert.ok(!allows(objects, pod, DATABASE, { port: 8000 }));
        assert.ok(!allows(objects, pod, { ...DATABASE, namespace: 'default' }, { port: 5432 }));
      }
      assert.ok(!allows(objects, OTHER, DATABASE, { port: 5432 }));
    },
    (objects) => remove(objects, 'database'),
    (objects) => remove(objects, 'stampgate-migration'),
    (objects) => (policy(objects, 'database').spec.podSelector = {}),
    (objects) => delete policy(objects, 'database').spec.egress[0].ports,
  );

  fact(
    'only the gateways reach upstream, and they reach neither the cluster nor the metadata of the cloud',
    (objects) => {
      const { stampgate, 'stampgate-migration': migration } = endsOf(objects);
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
      const { stampgate, 'stampgate-migration': migration } = endsOf(objects);
      const clients = { 7443: CALLER, 8080: INGRESS, 8081: PROMETHEUS };
      assert.deepEqual(Object.values(stampgate.ports), Object.keys(clients).map(Number));
      for (const client of [CALLER, INGRESS, PROMETHEUS, STRANGER, migration, { ...CALLER, namespaceLabels: {} }]) {
        for (const [port, expected] of Object.entries(clients)) {
          assert.equal(allows(objects, client, stampgate, { port: Number(port) }), client === expected, port);
        }
        for (const other of [migration, OTHER]) assert.ok(!allows(objects, client, other, { port: 7443 }));
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
    'runs before everything else, also for Argo CD, and is created again only for a new version',
    (objects) => {
      const { metadata, spec } = find(objects, 'Job', 'stampgate-migration');
      // A tool that compares the cluster with the manifests would create a deleted job again.
      assert.equal(spec.ttlSecondsAfterFinished, undefined);
      assert.deepEqual(metadata.annotations, {
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
        'kustomize.toolkit.fluxcd.io/force': 'enabled',
      });
      // Kubernetes creates the account of the gateways later.
      assert.equal(spec.template.spec.serviceAccountName, undefined);
    },
    (objects) => (find(objects, 'Job', 'stampgate-migration').spec.ttlSecondsAfterFinished = 600),
    (objects) => delete find(objects, 'Job', 'stampgate-migration').metadata.annotations,
    (objects) => (podsOf(objects)['stampgate-migration'].spec.serviceAccountName = 'stampgate'),
  );

  fact(
    'needs only what runs before everything else, also in a namespace that denies all connections',
    (objects) => {
      const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']?.startsWith('pre-install'));
      const { 'stampgate-migration': migration } = endsOf(hooks);
      const early = [...hooks, policy(objects, 'default-deny')];
      assert.ok(allows(early, migration, DATABASE, { port: 5432 }));
      for (const protocol of ['UDP', 'TCP']) assert.ok(allows(early, migration, DNS, { protocol, port: 53 }));
      assert.ok(!allows(early, migration, UPSTREAM, { port: 443 }));
      const order = (object) => Number(object.metadata.annotations['helm.sh/hook-weight'] ?? 0);
      assert.ok(order(policy(hooks, 'stampgate-migration')) < order(find(hooks, 'Job', 'stampgate-migration')));
    },
    (objects) => delete policy(objects, 'stampgate-migration').metadata.annotations['helm.sh/hook-weight'],
    (objects) => policy(objects, 'stampgate-migration').spec.egress.shift(),
    (objects) => policy(objects, 'stampgate-migration').spec.egress.pop(),
  );

  fact(
    'has the restrictions of the gateways, and alone has the password of the owner',
    (objects) => {
      const gateway = podOf(objects);
      const { spec } = podsOf(objects)['stampgate-migration'];
      assert.deepEqual(spec.securityContext, gateway.securityContext);
      assert.deepEqual(spec.containers[0].securityContext, gateway.containers[0].securityContext);
      assert.equal(spec.containers[0].image, gateway.containers[0].image);
      assert.equal(spec.automountServiceAccountToken, false);
      const owners = Object.entries(podsOf(objects)).filter(([, pod]) =>
        pod.spec.volumes.some(({ secret }) => secret?.secretName === 'stampgate-owner'),
      );
      assert.deepEqual(
        owners.map(([name]) => name),
        ['stampgate-migration'],
      );
    },
    (objects) => (podsOf(objects)['stampgate-migration'].spec.automountServiceAccountToken = true),
    (objects) => podOf(objects).volumes.push({ name: 'owner', secret: { secretName: 'stampgate-owner' } }),
  );
});

describe('helm test', { skip: everything.skip }, () => {
  it('runs a pod that can call the gateway, and nothing else', () => {
    const objects = everything.read();
    const { stampgate, 'stampgate-test': test } = endsOf(objects);
    assert.ok(allows(objects, test, stampgate, { port: 7443 }));
    assert.ok(allows(objects, test, DNS, { protocol: 'UDP', port: 53 }));
    for (const port of [8080, 8081]) assert.ok(!allows(objects, test, stampgate, { port }));
    assert.ok(!allows(objects, test, DATABASE, { port: 5432 }));
    assert.ok(!allows(objects, test, UPSTREAM, { port: 443 }));
    assert.ok(
      !allows(
        objects.filter(({ metadata }) => metadata.name !== 'grpc-from-test'),
        test,
        stampgate,
        { port: 7443 },
      ),
    );
  });
});
