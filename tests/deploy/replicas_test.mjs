// Tests of the overlay deploy/kubernetes/replicas: several gateways with one store on PostgreSQL.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { fillIn, layOut } from './example_layout.mjs';
import { find, folder, parse, podOf, readAll } from './manifests.mjs';

const overlay = join(folder, 'replicas');
const read = (name) => parse(readFileSync(join(overlay, name), 'utf8'));

const [kustomization] = read('kustomization.yaml');
const [patch] = read('stateful_set_patch.yaml');
const [autoscaler] = read('autoscaler.yaml');
const [policy] = read('database_policy.yaml');
const [migration] = read('migration.yaml');
const [, cluster] = read('database.yaml');
const page = readFileSync(join(folder, 'README.md'), 'utf8');

/** The part `store` of a config, and the config of the tables' owner, as the README shows them. */
const [storeText, ownerText] = [...page.matchAll(/^ {3}```yaml\n( {3}store:\n[^]*?) {3}```$/gm)].map(([, text]) =>
  text.replace(/^ {3}/gm, ''),
);

describe('the overlay for replicas', () => {
  it('names all files of its folder', () => {
    const named = [...kustomization.resources, ...kustomization.patches.map(({ path }) => path), 'kustomization.yaml'];
    assert.deepEqual(named.filter((name) => name !== '../example').sort(), readdirSync(overlay).sort());
  });

  it('patches the StatefulSet of the base, and leaves the number of replicas to the autoscaler', () => {
    const stateful = find(readAll(), 'StatefulSet');
    assert.deepEqual(
      [patch.kind, patch.apiVersion, patch.metadata],
      [stateful.kind, stateful.apiVersion, { name: stateful.metadata.name, namespace: stateful.metadata.namespace }],
    );
    assert.equal(patch.spec.replicas, null);
    const { scaleTargetRef, minReplicas, maxReplicas } = autoscaler.spec;
    assert.deepEqual(scaleTargetRef, { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'stampgate' });
    assert.ok(minReplicas >= 2 && maxReplicas <= 64, 'a store has 64 leases');
    const [container] = patch.spec.template.spec.containers;
    assert.equal(container.name, podOf(readAll()).containers[0].name);
  });

  it('spreads the replicas over nodes and zones', () => {
    const labels = find(readAll(), 'StatefulSet').spec.selector;
    const { topologySpreadConstraints: constraints } = patch.spec.template.spec;
    assert.deepEqual(
      constraints.map(({ topologyKey, whenUnsatisfiable }) => [topologyKey, whenUnsatisfiable]),
      [
        ['kubernetes.io/hostname', 'DoNotSchedule'],
        ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
      ],
    );
    for (const { labelSelector } of constraints) assert.deepEqual(labelSelector, labels);
  });

  it('gives the gateways the key of the store and a password, and never the password of the owner', () => {
    const {
      containers: [container],
      volumes,
    } = patch.spec.template.spec;
    assert.deepEqual(
      volumes.map(({ secret }) => secret.secretName),
      ['stampgate-store', 'stampgate-database'],
    );
    for (const { secret } of volumes) assert.equal(secret.defaultMode, 0o440);
    assert.deepEqual(
      container.volumeMounts.map(({ name }) => name),
      volumes.map(({ name }) => name),
    );
    assert.ok(container.volumeMounts.every(({ readOnly }) => readOnly));
    const secrets = migration.spec.template.spec.volumes.filter(({ secret }) => secret);
    assert.deepEqual(
      secrets.map(({ secret }) => secret.secretName),
      ['stampgate-owner'],
    );
  });

  it('has a database that waits for a standby, and refuses connections without TLS', () => {
    assert.ok(cluster.spec.instances >= 3);
    assert.deepEqual(cluster.spec.postgresql.synchronous, { method: 'any', number: 1, dataDurability: 'required' });
    assert.ok(cluster.spec.postgresql.pg_hba.every((line) => line.startsWith('hostssl ')));
    const { owner } = cluster.spec.bootstrap.initdb;
    const [role] = cluster.spec.managed.roles;
    assert.notEqual(role.name, owner);
    assert.deepEqual(migration.spec.template.spec.containers[0].args.slice(-2), ['--grant-to', role.name]);
  });

  it('lets only the gateways and the migration connect to the database', () => {
    const [{ values }] = policy.spec.podSelector.matchExpressions;
    const names = [find(readAll(), 'StatefulSet').metadata.labels, migration.spec.template.metadata.labels];
    assert.deepEqual(
      values,
      names.map((labels) => labels['app.kubernetes.io/name']),
    );
    const [
      {
        to: [peer],
        ports,
      },
    ] = policy.spec.egress;
    assert.deepEqual(ports, [{ protocol: 'TCP', port: 5432 }]);
    assert.equal(peer.namespaceSelector.matchLabels['kubernetes.io/metadata.name'], cluster.metadata.namespace);
    assert.equal(peer.podSelector.matchLabels['cnpg.io/cluster'], cluster.metadata.name);
  });

  it('runs the migration with the restrictions of the gateways', () => {
    const gateway = podOf(readAll());
    const pod = migration.spec.template.spec;
    const { fsGroupChangePolicy, ...context } = gateway.securityContext;
    assert.deepEqual(pod.securityContext, context);
    assert.deepEqual(pod.containers[0].securityContext, gateway.containers[0].securityContext);
    assert.equal(pod.automountServiceAccountToken, false);
  });
});

/** Puts a store into the config of the example. */
const withStore = (store) => (text) => {
  const changed = fillIn(text).replace(/^store:\n {2}sqlite:\n {4}folder: .*\n/m, store);
  assert.ok(changed.includes('postgresql'), 'the store was replaced');
  return changed;
};

describe('the configs of the page', { timeout: HANG_MS }, () => {
  it('are accepted, and name files of the mounted secrets', async (t) => {
    const mounts = patch.spec.template.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath);
    for (const [, file] of storeText.matchAll(/_file: (\S+)$/gm)) {
      assert.ok(
        mounts.some((path) => file.startsWith(`${path}/`)),
        file,
      );
    }
    const host = `${cluster.metadata.name}-rw.${cluster.metadata.namespace}.svc:5432`;
    for (const text of [storeText, ownerText]) assert.ok(text.includes(host), text);

    const there = scratch(t);
    const config = await layOut(there, withStore(storeText));
    for (const name of ['store', 'database']) mkdirSync(join(there, name));
    assert.equal((await run(['store', 'keygen', '--out', join(there, 'store/store.key')])).status, 0);
    writeFileSync(join(there, 'database/password'), 'a password\n', { mode: 0o440 });
    writeFileSync(join(there, 'database/ca.crt'), readFileSync(join(there, 'tls/ca.crt')));
    const { status, stderr } = await run(['check', '--config', config]);
    assert.equal(status, 0, stderr);
  });

  it('let the owner migrate: the command fails only because there is no server here', async (t) => {
    const there = scratch(t);
    const config = await layOut(there, withStore(ownerText));
    mkdirSync(join(there, 'owner'));
    writeFileSync(join(there, 'owner/password'), 'a password\n', { mode: 0o440 });
    writeFileSync(join(there, 'owner/ca.crt'), readFileSync(join(there, 'tls/ca.crt')));
    const { status, stderr } = await run(['store', 'migrate', '--config', config]);
    assert.equal(status, 1);
    assert.match(stderr, /^stampgate-database-rw\.stampgate-database\.svc:5432: /);
  });
});
