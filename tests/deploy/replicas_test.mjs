// Tests what several gateways with one store on PostgreSQL need beside the manifests: the database of
// deploy/kubernetes/prerequisites, and the configs of the page.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { layOut } from './example_layout.mjs';
import { find, folder, ownerText, parse, podOf, podsOf, storeText, variants, withStore } from './manifests.mjs';

const objects = variants.find(({ name }) => name === 'the replicas').read();
const [, cluster] = parse(readFileSync(join(folder, 'prerequisites/database.yaml'), 'utf8'));

describe('the database', () => {
  it('waits for a standby, and refuses connections without TLS', () => {
    assert.ok(cluster.spec.instances >= 3);
    assert.deepEqual(cluster.spec.postgresql.synchronous, { method: 'any', number: 1, dataDurability: 'required' });
    assert.ok(cluster.spec.postgresql.pg_hba.every((line) => line.startsWith('hostssl ')));
  });

  it('has an owner that only the migration uses, which grants the rights of the gateways to another role', () => {
    const { owner } = cluster.spec.bootstrap.initdb;
    const [role] = cluster.spec.managed.roles;
    assert.notEqual(role.name, owner);
    const [migration] = podsOf(objects)['stampgate-migration'].spec.containers;
    assert.deepEqual(migration.args.slice(-2), ['--grant-to', role.name]);
    assert.match(ownerText, RegExp(`user: ${owner}\n`));
    assert.match(storeText, RegExp(`user: ${role.name}\n`));
  });

  it('is what the network policies of the gateways and of the migration name', () => {
    for (const name of ['database', 'stampgate-migration']) {
      const rule = find(objects, 'NetworkPolicy', name).spec.egress.at(-1);
      assert.deepEqual(rule.ports, [{ protocol: 'TCP', port: 5432 }]);
      const [{ namespaceSelector, podSelector }] = rule.to;
      assert.equal(namespaceSelector.matchLabels['kubernetes.io/metadata.name'], cluster.metadata.namespace);
      assert.equal(podSelector.matchLabels['cnpg.io/cluster'], cluster.metadata.name);
    }
  });
});

describe('the configs of the page', { timeout: HANG_MS }, () => {
  it('are accepted, and name files of the mounted secrets', async (t) => {
    const mounts = podOf(objects).containers[0].volumeMounts.map(({ mountPath }) => mountPath);
    for (const [, file] of storeText.matchAll(/_file: (\S+)$/gm)) {
      assert.ok(
        mounts.some((path) => file.startsWith(`${path}/`)),
        file,
      );
    }
    const host = `${cluster.metadata.name}-rw.${cluster.metadata.namespace}.svc:5432`;
    for (const text of [storeText, ownerText]) assert.ok(text.includes(host), text);

    const there = scratch(t);
    const config = await layOut(there, (text) => withStore(text, storeText));
    for (const name of ['store', 'database']) mkdirSync(join(there, name));
    assert.equal((await run(['store', 'keygen', '--out', join(there, 'store/store.key')])).status, 0);
    writeFileSync(join(there, 'database/password'), 'a password\n', { mode: 0o440 });
    writeFileSync(join(there, 'database/ca.crt'), readFileSync(join(there, 'tls/ca.crt')));
    const { status, stderr } = await run(['check', '--config', config]);
    assert.equal(status, 0, stderr);
  });

  it('let the owner migrate: the command fails only because there is no server here', async (t) => {
    const there = scratch(t);
    const config = await layOut(there, (text) => withStore(text, ownerText));
    mkdirSync(join(there, 'owner'));
    writeFileSync(join(there, 'owner/password'), 'a password\n', { mode: 0o440 });
    writeFileSync(join(there, 'owner/ca.crt'), readFileSync(join(there, 'tls/ca.crt')));
    const { status, stderr } = await run(['store', 'migrate', '--config', config]);
    assert.equal(status, 1);
    assert.match(stderr, /^stampgate-database-rw\.stampgate-database\.svc:5432: /);
  });
});
