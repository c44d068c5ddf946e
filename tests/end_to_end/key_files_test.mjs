// `stampgate check` reads key files. If a key file is invalid, the command prints the reason, but no digit of the key.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { run, scratch, writeKey } from './harness.mjs';

const folder = scratch({ after });
const { privateKey } = apiKeyNamed('gateway p256');
const pathOf = (name) => join(folder, name);

/** The report of `stampgate check` about a config with this key file. */
async function check(file, settings = {}) {
  const config = pathOf('config.yaml');
  const keys = [{ name: 'main', file, all_organizations: true }];
  const callers = [{ name: 'local', loopback: true, grants: [{ classes: ['query'], all_organizations: true }] }];
  const upstream = { base_url: 'https://upstream.example' };
  writeFileSync(config, JSON.stringify({ upstream, keys, callers, class_grants_as_of: '2026-09-22', ...settings }));
  const { status, stdout, stderr } = await run(['check', '--config', config]);
  for (let i = 0; i + 8 <= privateKey.length; i += 8) {
    assert.ok(!`${stdout}${stderr}`.includes(privateKey.slice(i, i + 8)), 'a part of a key is printed');
  }
  return { status, report: stderr.trimEnd().replace(/^.*config\.yaml:[0-9]+:[0-9]+: /, '') };
}

const writes =
  (content, mode = 0o600) =>
  (path) => {
    writeFileSync(path, content);
    chmodSync(path, mode);
  };

const line = `${privateKey}:p256\n`;
const CURVE = 'the curve after the colon is not p256, secp256k1 or ed25519';
const MODE = 'others may use it or its group may write it: its mode must be 0600, 0400 or 0440';

for (const [title, make, reason] of [
  ['a file that others may read', writes(line, 0o644), MODE],
  ['a key of an unknown curve', writes(`${privateKey}:p384\n`), CURVE],
]) {
  test(`refused: ${title}`, async () => {
    const name = `${title.replaceAll(/[^a-zA-Z0-9]/g, '-')}.key`;
    make(pathOf(name));
    const { status, report } = await check(name);
    assert.equal(report, `keys[0].file: key file ${pathOf(name)}: ${reason}`);
    assert.equal(status, 1);
  });
}

test('accepted: a symbolic link to a valid file, as in mounted secrets', async () => {
  writeKey(folder, undefined, 'good.key');
  symlinkSync('good.key', pathOf('link.key'));
  assert.deepEqual(await check('link.key'), { status: 0, report: '' });
});

const notRoot = process.getuid() !== 0 && 'only root can change the owner of a file';
test(
  'accepted: a file of a user that secret_file_owners lists, unless others may read it',
  { skip: notRoot },
  async () => {
    writes(line)(pathOf('foreign.key'));
    chownSync(pathOf('foreign.key'), 12345, -1);
    const { status, report } = await check('foreign.key');
    assert.equal(status, 1);
    assert.match(
      report,
      /its owner is the user 12345, .*: change the owner, or list 12345 in the setting secret_file_owners$/,
    );
    assert.equal((await check('foreign.key', { secret_file_owners: [100] })).status, 1);
    assert.deepEqual(await check('foreign.key', { secret_file_owners: [100, 12345] }), { status: 0, report: '' });
    chmodSync(pathOf('foreign.key'), 0o644);
    assert.equal(
      (await check('foreign.key', { secret_file_owners: [12345] })).report,
      `keys[0].file: key file ${pathOf('foreign.key')}: ${MODE}`,
    );
  },
);
