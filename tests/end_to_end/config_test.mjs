// Bad configs and bad key files: every fault is named at once, with its place, and nothing secret is said.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { Gateway, root, run, scratch, writeKey } from './harness.mjs';

const folder = scratch({ after });
const { privateKey } = apiKeyNamed('gateway p256');
writeKey(folder, undefined, 'good.key');

/** Writes a file beside the configs. */
function write(name, content, mode = 0o600) {
  writeFileSync(join(folder, name), content, { mode });
  chmodSync(join(folder, name), mode);
  return name;
}

/** Runs `stampgate check` (or serve) on a text; `report` has the lines without the file's name. */
async function check(text, command = 'check') {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, text);
  const { status, stdout, stderr } = await run([command, '--config', file]);
  assert.ok(!stderr.includes(privateKey.slice(2, 20)), 'a key is printed');
  return { status, stdout, report: stderr.trimEnd().split('\n').map((line) => line.replace(`${file}:`, '')) };
}

const GOOD = `upstream: {base_url: "https://upstream.example"}
keys: [{name: main, file: good.key, all_organizations: true}]
`;

describe('stampgate check', () => {
  test('says ok to a good config', async () => {
    const { status, stdout, report } = await check(GOOD);
    assert.equal(status, 0);
    assert.match(stdout, /config\.yaml: ok \(1 keys, 25 operations\)/);
    assert.deepEqual(report, ['']);
  });

  test('says ok to deploy/example.yaml, whose defaults are the defaults', async () => {
    writeKey(folder, undefined, 'main.key');
    const { status, report } = await check(readFileSync(join(root, 'deploy/example.yaml'), 'utf8'));
    assert.equal(status, 0, report.join('\n'));
  });

  test('names every fault with its place', async () => {
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
    assert.deepEqual(report, [
      '1:17: listen_address: must be 127.x.x.x, [::1] or localhost: plaintext is refused on other addresses',
      '2:16: operator_name: must be a letter, then letters and digits',
      '4:13: upstream.base_url: must start with https://: http:// is for 127.x.x.x, [::1] and localhost',
      '5:12: upstream.ca_file: holds no certificate in PEM',
      '6:20: upstream.connect_timeout: must be from 1ms to 10m',
      '7:20: upstream.max_connections: must be from 1 to 1024',
      '8:3: upstream.surprise: unknown key',
      '10:21: calls.default_deadline: must not be above max_deadline, which is 30s',
      '11:22: calls.max_request_bytes: must be from 65536 to 4194304',
      '12:18: replica.index: must be below count',
      '14:11: keys[0].name: must consist of a-z, 0-9 and -',
      `15:11: keys[0].file: key file ${join(folder, 'missing.key')}: it cannot be opened: No such file or directory`,
      "19:24: keys[1].organizations[1]: must be an exact id: letters, digits, '.', '_', ':' and '-'",
      '19:31: keys[1].organizations[2]: has a key already, by keys[1].organizations[0]',
      '20:11: keys[2].name: is the name of keys[1] already',
      '22:24: keys[2].all_organizations: is true already for keys[0]',
      '23:17: keys[2].public_key: is not the public half of the key in the file',
      '24:5: keys[3].organizations: must be given if all_organizations is not true, and only then',
      '25:5: keys[4].name: is required',
      '25:12: keys[4].file: holds a key: name the file that holds it',
    ]);
  });

  for (const [title, text, expected] of [
    ['an empty file', '', ['1:1: upstream.base_url: is required', '1:1: keys: is required']],
    ['a text that is not YAML', 'upstream: [\n', [/^2:1: is not YAML/]],
    ['a list', '- a\n', [/^1:1: /]],
    ['a key that stands twice', `${GOOD}operator_name: A\noperator_name: B\n`, [/^4:1: operator_name: /]],
    ['an alias', `${GOOD}operator_name: *a\n`, [/^[0-9]+:[0-9]+: /]],
    ['a second document', `${GOOD}---\n${GOOD}`, [/^[0-9]+:[0-9]+: /]],
  ]) {
    test(`refuses ${title}`, async () => {
      const { status, report } = await check(text);
      assert.equal(status, 1);
      assert.equal(report.length, expected.length, report.join('\n'));
      expected.forEach((line, i) => assert.match(report[i], line instanceof RegExp ? line : new RegExp(`^${line}$`)));
    });
  }

  test('refuses a file that is not there', async () => {
    const { status, stderr } = await run(['check', '--config', join(folder, 'nowhere.yaml')]);
    assert.equal(status, 1);
    assert.match(stderr, /nowhere\.yaml: cannot be read: No such file or directory/);
  });
});

describe('a key file that will not do is refused, with the reason:', () => {
  const openssl = (name, ...args) => {
    execFileSync('openssl', [...args, '-out', join(folder, name)], { stdio: 'ignore' });
    chmodSync(join(folder, name), 0o600);
    return name;
  };
  const pem = (label, base64) => `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
  const line = `${privateKey}:p256\n`;

  for (const [title, make, reason] of [
    ['others may read it', () => write('open.key', line, 0o644), /others may use it/],
    ['its group may write it', () => write('group.key', line, 0o660), /its group may write it/],
    ['it is empty', () => write('empty.key', ''), /it is empty/],
    ['it is a folder', () => (mkdirSync(join(folder, 'folder.key')), 'folder.key'), /not a regular file/],
    ['it is a pipe', () => (execFileSync('mkfifo', [join(folder, 'pipe.key')]), 'pipe.key'), /not a regular file/],
    ['it is too large', () => write('large.key', line.repeat(1000)), /larger than 4096 bytes/],
    ['it is neither PEM nor hex', () => write('garbage.key', 'garbage\n'), /neither PEM nor 64 hex digits/],
    ['a digit is missing', () => write('short.key', `${privateKey.slice(1)}:p256\n`), /neither PEM nor 64 hex digits/],
    ['a digit is none', () => write('letter.key', `g${privateKey.slice(1)}:p256\n`), /other characters among its hex/],
    ['its curve is not known', () => write('curve.key', `${privateKey}:p384\n`), /what follows its colon is none of/],
    ['its scalar is 0', () => write('zero.key', `${'0'.repeat(64)}:p256\n`), /its scalar is not between 1 and/],
    ["its scalar is the curve's order or more", () => write('big.key', `${'f'.repeat(64)}:secp256k1\n`), /its scalar/],
    ['two keys are in it', () => write('two.key', `${line}${line}`), /what follows its colon is none of/],
    ['its PEM is not well formed', () => write('bad.pem', pem('PRIVATE KEY', 'AAAA')), /well-formed private key/],
    ['its PEM has no end', () => write('cut.pem', '-----BEGIN PRIVATE KEY-----\nAAAA\n'), /cut short/],
    [
      'it holds the public half only',
      () => openssl('public.pem', 'pkey', '-in', ecKey('prime256v1', 'half.pem'), '-pubout'),
      /a public key, not a private one/,
    ],
    ['it is an RSA key', () => openssl('rsa.pem', 'genpkey', '-algorithm', 'RSA'), /its curve is none of/],
    ['its curve is P-384', () => ecKey('secp384r1', 'p384.pem') && 'p384.pem', /its curve is none of/],
    [
      'it is encrypted',
      () => openssl('encrypted.pem', 'pkcs8', '-topk8', '-in', ecKey('prime256v1', 'plain.pem'), '-passout', 'pass:x'),
      /it is encrypted/,
    ],
  ]) {
    test(title, async () => {
      const name = make();
      const { status, report } = await check(GOOD.replace('good.key', name));
      assert.equal(status, 1);
      assert.equal(report.length, 1, report.join('\n'));
      assert.ok(report[0].startsWith(`2:27: keys[0].file: key file ${join(folder, name)}: `), report[0]);
      assert.match(report[0], reason);
    });
  }

  function ecKey(group, name) {
    openssl(name, 'genpkey', '-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${group}`);
    return join(folder, name);
  }

  test('while a link to a good one will do, as mounted secrets are links', async () => {
    symlinkSync('good.key', join(folder, 'link.key'));
    const { status, report } = await check(GOOD.replace('good.key', 'link.key'));
    assert.equal(status, 0, report.join('\n'));
  });
});

describe('the command line', () => {
  for (const [args, reason] of [
    [[], /a command is missing/],
    [['frobnicate'], /unknown command: frobnicate/],
    [['serve'], /serve needs --config/],
    [['check', '--config'], /--config needs a value/],
    [['check', '--config', 'a', '--config', 'b'], /repeated flag: --config/],
    [['check', '--config', 'a', '--verbose'], /unknown or repeated flag: --verbose/],
    [['check', 'config.yaml'], /unexpected argument: config\.yaml/],
    [['keygen', '--curve', 'p384', '--out', 'x'], /--curve must be p256, secp256k1 or ed25519/],
    [['keygen', '--curve', 'p256'], /keygen needs --out/],
  ]) {
    test(`is refused with status 2: ${args.join(' ') || 'nothing'}`, async () => {
      const { status, stdout, stderr } = await run(args);
      assert.equal(status, 2);
      assert.equal(stdout, '');
      assert.match(stderr, reason);
      assert.match(stderr, /see stampgate --help/);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    });
  }

  test('explains itself', async () => {
    const { status, stdout, stderr } = await run(['--help']);
    assert.deepEqual([status, stderr], [0, '']);
    for (const word of ['serve --config', 'check --config', 'keygen --curve']) assert.ok(stdout.includes(word));
    assert.match((await run(['--version'])).stdout, /^stampgate [0-9]+\.[0-9]+\.[0-9]+\n$/);
  });
});

describe('stampgate serve', () => {
  const base = { upstream: { base_url: 'http://127.0.0.1:1' } };
  const keys = [{ name: 'main', file: 'good.key', all_organizations: true }];

  for (const address of ['0.0.0.0:0', '[::]:0', '[::ffff:127.0.0.1]:0', '192.0.2.1:0', 'localhost.example:0', '127.1:0']) {
    test(`serves no plaintext on ${address}`, async () => {
      const { status, report } = await check(`listen_address: "${address}"\n${GOOD}`, 'serve');
      assert.equal(status, 1);
      assert.match(report[0], /^1:17: listen_address: must be .*: plaintext is refused on other addresses$/);
    });
  }

  for (const host of ['127.0.0.1', '127.8.9.10', 'localhost']) {
    test(`serves on ${host}`, async () => {
      const gateway = await Gateway.start({ ...base, keys, listen_address: `${host}:0` }, { folder });
      const address = new RegExp(`^${host.replaceAll('.', '\\.')}:[1-9][0-9]*$`);
      const { status } = await gateway.stop();
      assert.match(gateway.address, address);
      assert.equal(status, 0);
    });
  }

  test('reports the faults of a config as check does', async () => {
    const text = GOOD.replace('good.key', 'missing.key');
    const [served, checked] = [await check(text, 'serve'), await check(text)];
    assert.equal(served.status, 1);
    assert.deepEqual(served.report, checked.report);
  });

  test('says so if its port is in use', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const address = `127.0.0.1:${other.address().port}`;
    const { status, report } = await check(`listen_address: ${address}\n${GOOD}`, 'serve');
    assert.equal(status, 1);
    assert.equal(report.at(-1), `cannot listen on ${address}: is the port in use?`);
  });

  test('does not share its port with a second one', async (t) => {
    const gateway = await Gateway.start({ ...base, keys, listen_address: '127.0.0.1:0' }, { folder });
    t.after(() => gateway.stop());
    const { status } = await check(`listen_address: ${gateway.address}\n${GOOD}`, 'serve');
    assert.equal(status, 1);
  });
});
