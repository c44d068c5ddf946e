// Configs: `check` reports every fault in one run, with line and column, and `serve` reports the same faults.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { root } from '../paths.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { makeAuthority } from './certificates.mjs';
import { Gateway, freeCaller, run, scratch, writeKey } from './harness.mjs';
import { startFaults } from './log_lines.mjs';

const folder = scratch({ after });
const { privateKey } = apiKeyNamed('gateway p256');
writeKey(folder, undefined, 'good.key');

/** Runs `stampgate check` (or another command) on a config. `report` has the faults, without the file's name. */
async function check(text, command = 'check') {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, text);
  const { status, stdout, stderr } = await run([command, '--config', file]);
  assert.ok(!stderr.includes(privateKey.slice(2, 20)), 'a key is printed');
  const lines = command === 'serve' ? startFaults(stderr) : stderr.trimEnd().split('\n');
  return { status, stdout, report: lines.map((line) => line.replace(`${file}:`, '')) };
}

const GOOD = `upstream: {base_url: "https://upstream.example"}
keys: [{name: main, file: good.key, all_organizations: true}]
callers: [{name: local, loopback: true, grants: [{classes: [query], all_organizations: true}]}]
class_grants_as_of: 2026-09-22
`;

describe('stampgate check', () => {
  test('accepts a valid config', async () => {
    const { status, stdout, report } = await check(GOOD);
    assert.equal(status, 0);
    assert.match(stdout, /config\.yaml: ok \(1 keys, 1 callers, \d+ operations\)/);
    assert.deepEqual(report, ['']);
  });

  test('accepts deploy/example.yaml', async () => {
    writeKey(folder, undefined, 'main.key');
    const { status, report } = await check(readFileSync(join(root, 'deploy/example.yaml'), 'utf8'));
    assert.deepEqual([status, report], [0, ['']]);
  });

  test('warns of each class that covers few methods because no day is set', async () => {
    const { status, stdout, report } = await check(GOOD.replace(/^class_grants_as_of.*\n/m, ''));
    assert.equal(status, 0);
    assert.match(
      report.join(),
      /^3:61: callers\[0\]\.grants\[0\]\.classes\[0\]: class query covers \d+ of \d+ methods: class_grants_as_of is not set \(warning\)$/,
    );
    assert.match(
      stdout,
      /^class grants do not cover \d+ operations that are newer than class_grants_as_of, which is not set/m,
    );
  });

  test('accepts the certificate of an authority as ca_file', async () => {
    const { file } = makeAuthority(folder, 'authority');
    const { status, report } = await check(GOOD.replace('"}', `", ca_file: ${basename(file)}}`));
    assert.equal(status, 0, report.join('\n'));
  });

  test('accepts valid settings without effect, and warns of them', async () => {
    const { status, stdout, report } = await check(
      GOOD.replace('callers: [', 'callers: [{name: idle, dns_names: [a]}, ').replace(
        '[query]',
        '[query], general_operations: [{path: get_policy}]',
      ),
    );
    assert.equal(status, 0);
    assert.match(stdout, /: ok \(1 keys, 2 callers/);
    assert.deepEqual(report, [
      '3:11: callers[0]: has no grants: every call of this caller is refused (warning)',
      '3:127: callers[1].grants[0].general_operations[0].path: has no effect: it belongs to an operation that has a ' +
        'method of its own: grant that method (warning)',
    ]);
  });

  test('reports every fault with line and column', async () => {
    const { status, stdout, report } = await check(`listen_address: 0.0.0.0:7443
operator_name: 1x
upstream:
  base_url: http://api.example.com
  ca_file: good.key
  connect_timeout: 0s
  max_connections: 0
  surprise: true
calls:
  default_deadline: 60s
  max_request_bytes: 1
replica: {index: 3, count: 3}
keys:
  - name: Main
    file: missing.key
    all_organizations: true
  - name: a
    file: good.key
    organizations: [x, "y z", x]
  - name: a
    file: good.key
    all_organizations: true
    public_key: ${'02'.repeat(33)}
  - {name: b, file: good.key}
  - {file: ${privateKey}, organizations: [z]}
`);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    // Unit tests check the error texts.
    const places = report.map((line) => /^[0-9]+:[0-9]+: [^:]+(?=: .)/.exec(line)?.[0]);
    assert.deepEqual(places, [
      '1:1: callers',
      '1:17: listen_address',
      '2:16: operator_name',
      '4:13: upstream.base_url',
      '5:12: upstream.ca_file',
      '6:20: upstream.connect_timeout',
      '7:20: upstream.max_connections',
      '8:3: upstream.surprise',
      '10:21: calls.default_deadline',
      '11:22: calls.max_request_bytes',
      '12:18: replica.index',
      '14:11: keys[0].name',
      '15:11: keys[0].file',
      '19:24: keys[1].organizations[1]',
      '19:31: keys[1].organizations[2]',
      '20:11: keys[2].name',
      '23:17: keys[2].public_key',
      '24:5: keys[3].organizations',
      '25:5: keys[4].name',
      '25:12: keys[4].file',
    ]);
  });

  test('refuses a text that is not YAML', async () => {
    const { status, report } = await check('upstream: [\n');
    assert.equal(status, 1);
    assert.equal(report.length, 1, report.join('\n'));
    assert.match(report[0], /^2:1: is not YAML/);
  });

  test('--as needs no other file than the config', async () => {
    const file = join(scratch({ after }), 'config.yaml');
    const text = `listen_address: 0.0.0.0:7443
upstream: {base_url: "https://upstream.example", ca_file: none}
keys: [{name: main, file: none, all_organizations: true}, {name: own, file: none, organizations: [a]}]
tls: {certificate_file: none, private_key_file: none, client_ca_file: none}
audit: {file: none, key_file: none}
webhooks: {tls_certificate_file: none, tls_private_key_file: none}
token_issuers: [{name: i, issuer: i, audiences: [a], jwks_file: none}]
callers:
  - name: c
    loopback: true
    grants:
      - {methods: [PolicyService/GetPolicy], organizations: [a, b]}
      - {methods: [WalletService/ListWalletAccounts], organizations_file: ids, key: main}
`;
    writeFileSync(file, text);
    const as = (name) => run(['check', '--config', file, '--as', name]);
    const unknown = `cannot show the organizations of grant 2, which are in ${join(dirname(file), 'ids')}: it cannot be opened: No such file or directory\n`;
    const report = (organizations) =>
      'c may call\ngrant 1: a, b\n  PolicyService/GetPolicy (query)\n' +
      `grant 2: ${organizations}, key main\n  WalletService/ListWalletAccounts (query)\n` +
      'where a grant names no key, its calls are signed with\n  key main: b\n  key own: a\n';
    const said = (stdout) => ({ status: 0, signal: null, stdout, stderr: '' });
    assert.deepEqual(await as('c'), said(report(`those in ${join(dirname(file), 'ids')}`) + unknown));
    writeFileSync(join(dirname(file), 'ids'), 'x\ny\n');
    assert.deepEqual(await as('c'), said(report('x, y')));
    const { status, stderr } = await as('d');
    assert.deepEqual([status, stderr], [1, `${file}: no caller is called d\n`]);

    const checked = await run(['check', '--config', file]);
    assert.equal(checked.status, 1);
    assert.equal(checked.stderr.trimEnd().split('\n').length, 7, checked.stderr);
    writeFileSync(file, `${text}surprise: 1\n`);
    assert.match((await as('c')).stderr, /^[^\n]*:14:1: surprise: unknown key\n$/);
  });

  test('refuses a file that does not exist', async () => {
    const { status, stderr } = await run(['check', '--config', join(folder, 'nowhere.yaml')]);
    assert.equal(status, 1);
    assert.match(stderr, /nowhere\.yaml: it cannot be opened: No such file or directory/);
  });
});

describe('stampgate serve', () => {
  const base = { upstream: { base_url: 'http://127.0.0.1:1' }, callers: freeCaller() };
  const keys = [{ name: 'main', file: 'good.key', all_organizations: true }];

  test('refuses to serve plaintext on all addresses', async () => {
    const { status, report } = await check(`listen_address: "0.0.0.0:0"\n${GOOD}`, 'serve');
    assert.equal(status, 1);
    assert.match(report[0], /^1:17: listen_address: must be .* without tls: plaintext is refused on other addresses$/);
  });

  for (const host of ['127.0.0.1', '127.8.9.10', 'localhost']) {
    test(`serves on ${host}`, async () => {
      const gateway = await Gateway.start({ ...base, keys, listen_address: `${host}:0` }, { folder });
      const address = new RegExp(`^${host.replaceAll('.', '\\.')}:[1-9][0-9]*$`);
      const { status } = await gateway.stop();
      assert.match(gateway.address, address);
      assert.equal(status, 0);
    });
  }

  test('reports the same faults of a config as check', async () => {
    const text = `${GOOD.replace('good.key', 'missing.key')}nonsense: 1\n`;
    const [served, checked] = [await check(text, 'serve'), await check(text)];
    assert.equal(served.status, 1);
    assert.equal(checked.report.length, 2);
    assert.deepEqual(served.report, checked.report);
  });

  test('reports that its port is in use', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const address = `127.0.0.1:${other.address().port}`;
    const { status, report } = await check(`listen_address: ${address}\n${GOOD}`, 'serve');
    assert.equal(status, 1);
    assert.equal(report.at(-1), `cannot listen on ${address}: Address already in use`);
  });

  test('does not share its port with a second gateway', async (t) => {
    const gateway = await Gateway.start({ ...base, keys, listen_address: '127.0.0.1:0' }, { folder });
    t.after(() => gateway.stop());
    const { status } = await check(`listen_address: ${gateway.address}\n${GOOD}`, 'serve');
    assert.equal(status, 1);
  });
});
