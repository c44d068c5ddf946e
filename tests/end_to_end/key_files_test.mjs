// Key files that will not do: each is refused with its reason, and without a digit of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { run, scratch, writeKey } from './harness.mjs';

const folder = scratch({ after });
const { privateKey } = apiKeyNamed('gateway p256');
const pathOf = (name) => join(folder, name);

/** What `stampgate check` says of a config with this key file. */
async function check(file) {
  const config = pathOf('config.yaml');
  const keys = [{ name: 'main', file, all_organizations: true }];
  const callers = [{ name: 'local', loopback: true, grants: [{ classes: ['query'], all_organizations: true }] }];
  writeFileSync(config, JSON.stringify({ upstream: { base_url: 'https://upstream.example' }, keys, callers }));
  const { status, stdout, stderr } = await run(['check', '--config', config]);
  for (let i = 0; i + 8 <= privateKey.length; i += 8) {
    assert.ok(!`${stdout}${stderr}`.includes(privateKey.slice(i, i + 8)), 'a part of a key is printed');
  }
  return { status, report: stderr.trimEnd().replace(/^.*config\.yaml:[0-9]+:[0-9]+: /, '') };
}

const writes = (content, mode = 0o600) => (path) => {
  writeFileSync(path, content);
  chmodSync(path, mode);
};

function openssl(path, ...args) {
  execFileSync('openssl', [...args, '-out', path], { stdio: 'ignore' });
  chmodSync(path, 0o600);
  return path;
}

const makesEcKey = (group) => (path) =>
  openssl(path, 'genpkey', '-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${group}`);

/** Makes a good key beside the file, and the file from it. */
const makesFrom = (...args) => (path) => openssl(path, ...args, '-in', makesEcKey('prime256v1')(`${path}.good`));

const pem = (label, base64) => `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
const line = `${privateKey}:p256\n`;
const EDGE = "its scalar is not between 1 and the curve's order";
const NEITHER = 'it is neither PEM nor 64 hex digits and a curve (128 for ed25519)';
const CURVE = 'the text after its colon is none of p256, secp256k1 and ed25519';
const MODE = 'others may use it or its group may write it: its mode must be 0600, 0400 or 0440';
const CUT = 'its PEM block is cut short or has other lines around it';
const OTHER_KEY = 'its curve is none of P-256, secp256k1 and Ed25519';

for (const [title, make, reason] of [
  ['one that others may read', writes(line, 0o644), MODE],
  ['one that its group may write', writes(line, 0o660), MODE],
  ['an empty one', writes(''), 'it is empty'],
  ['a folder', (path) => mkdirSync(path), 'it is not a regular file'],
  ['a pipe', (path) => execFileSync('mkfifo', ['-m', '600', path]), 'it is not a regular file'],
  ['a link to nothing', (path) => symlinkSync('nothing', path), 'it cannot be opened: No such file or directory'],
  ['a large one', writes(line.repeat(1000)), 'it is larger than 4096 bytes'],
  ['one that is neither PEM nor hex', writes('garbage\n'), NEITHER],
  ['one without its last digit', writes(`${privateKey.slice(1)}:p256\n`), NEITHER],
  ['one with a letter', writes(`g${privateKey.slice(1)}:p256\n`), 'it has other characters among its hex digits'],
  ['one of an unknown curve', writes(`${privateKey}:p384\n`), CURVE],
  ['one with two keys', writes(`${line}${line}`), CURVE],
  ['the number 0', writes(`${'0'.repeat(64)}:p256\n`), EDGE],
  ["more than the curve's order", writes(`${'f'.repeat(64)}:secp256k1\n`), EDGE],
  ['malformed PEM', writes(pem('PRIVATE KEY', 'AAAA')), 'its PEM block does not hold a well-formed private key'],
  ['half of PEM', writes('-----BEGIN PRIVATE KEY-----\nAAAA\n'), CUT],
  ['a public key', makesFrom('pkey', '-pubout'), 'it holds a public key, not a private one'],
  ['an encrypted key', makesFrom('pkcs8', '-topk8', '-passout', 'pass:x'), 'it is encrypted'],
  ['an RSA key', (path) => openssl(path, 'genpkey', '-algorithm', 'RSA'), OTHER_KEY],
  ['a key of P-384', makesEcKey('secp384r1'), OTHER_KEY],
]) {
  test(`refused: ${title}`, async () => {
    const name = `${title.replaceAll(/[^a-zA-Z0-9]/g, '-')}.key`;
    make(pathOf(name));
    const { status, report } = await check(name);
    assert.equal(report, `keys[0].file: key file ${pathOf(name)}: ${reason}`);
    assert.equal(status, 1);
  });
}

for (const mode of [0o600, 0o400, 0o440]) {
  test(`taken: one of mode ${mode.toString(8)}`, async () => {
    const name = `mode-${mode}.key`;
    writes(line, mode)(pathOf(name));
    assert.deepEqual(await check(name), { status: 0, report: '' });
  });
}

test('taken: a link to a good one, as mounted secrets are', async () => {
  writeKey(folder, undefined, 'good.key');
  symlinkSync('good.key', pathOf('link.key'));
  assert.deepEqual(await check('link.key'), { status: 0, report: '' });
});
