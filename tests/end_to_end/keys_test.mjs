// Tests API keys: every curve, every form of key file, and which key signs for which organization.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { preloaded } from '../machine/machine.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, apiKeyNamed, identifier, subOrganization } from '../simulator/testing.mjs';
import { run, scratch, startGateway, writeKey } from './harness.mjs';

const CURVES = ['p256', 'secp256k1', 'ed25519'];

/** The organization that the fixture's key "stranger" belongs to. */
const STRANGER = '33333333-0000-4000-8000-000000000001';

/** A call that any user of the organization may make. */
const WHOAMI = ['AuthenticationService/Whoami', { organization_id: ORGANIZATION }];
const whoami = (gateway, organization_id = ORGANIZATION) =>
  gateway.call('AuthenticationService/Whoami', { organization_id });

const catchAll = (file) => [{ name: 'main', file, all_organizations: true }];

/** Makes a query and a submit. The simulator must accept both with this public key. */
async function signsWith(t, simulator, keys, publicKey) {
  const gateway = await startGateway(t, simulator, { keys });
  await whoami(gateway);
  const { activity } = await gateway.call('WalletService/ExportWalletAccount', {
    organization_id: ORGANIZATION,
    parameters: { address: '0x0404040404040404040404040404040404040404', target_public_key: 'k' },
  });
  assert.equal(activity.votes[0].public_key, publicKey);
  assert.deepEqual(
    simulator.requests().map((request) => request.publicKey),
    [publicKey, publicKey],
  );
}

describe('a key in hex signs:', () => {
  for (const curve of CURVES) {
    test(curve, async (t) => {
      const simulator = await startSimulator();
      t.after(() => simulator.close());
      const key = apiKeyNamed(`vectors ${curve}`);
      await signsWith(t, simulator, catchAll(writeKey(scratch(t), key)), key.publicKey);
    });
  }
});

/** Makes a key in PEM with OpenSSL's command line. Returns its file and the public key in hex. */
function makePem(folder, kind) {
  const file = join(folder, 'gateway.pem');
  const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  if (kind === 'ed25519') {
    openssl('genpkey', '-algorithm', 'ed25519', '-out', file);
  } else {
    const [group, form] = kind;
    if (form === 'SEC1') openssl('ecparam', '-genkey', '-name', group, '-noout', '-out', file);
    else openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${group}`, '-out', file);
  }
  execFileSync('chmod', ['600', file]);
  const compressed = kind === 'ed25519' ? [] : ['-conv_form', 'compressed'];
  const command = kind === 'ed25519' ? 'pkey' : 'ec';
  const der = openssl(command, '-in', file, '-pubout', '-outform', 'DER', ...compressed);
  return { file, publicKey: der.subarray(kind === 'ed25519' ? -32 : -33).toString('hex') };
}

describe('a key in PEM signs:', () => {
  for (const [title, kind, curve] of [
    ['P-256, PKCS #8', ['prime256v1', 'PKCS8'], 'p256'],
    ['P-256, SEC 1', ['prime256v1', 'SEC1'], 'p256'],
    ['secp256k1, PKCS #8', ['secp256k1', 'PKCS8'], 'secp256k1'],
    ['secp256k1, SEC 1', ['secp256k1', 'SEC1'], 'secp256k1'],
    ['Ed25519', 'ed25519', 'ed25519'],
  ]) {
    test(title, async (t) => {
      const { file, publicKey } = makePem(scratch(t), kind);
      const simulator = await startSimulator({ publicKeys: [{ publicKey, curve }] });
      t.after(() => simulator.close());
      await signsWith(t, simulator, catchAll(file), publicKey);
    });
  }
});

describe('stampgate keygen makes a key that signs:', () => {
  for (const curve of CURVES) {
    test(curve, async (t) => {
      const file = join(scratch(t), 'new.key');
      const { status, stdout, stderr } = await run(['keygen', '--curve', curve, '--out', file]);
      assert.equal(status, 0, stderr);
      const publicKey = stdout.trim();
      assert.match(publicKey, curve === 'ed25519' ? /^[0-9a-f]{64}$/ : /^0[23][0-9a-f]{64}$/);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const simulator = await startSimulator({ publicKeys: [{ publicKey, curve }] });
      t.after(() => simulator.close());
      const keys = [{ name: 'main', file, public_key: publicKey, all_organizations: true }];
      await signsWith(t, simulator, keys, publicKey);
    });
  }

  test('keygen never overwrites a file, and does not print the private key', async (t) => {
    const file = join(scratch(t), 'new.key');
    const first = await run(['keygen', '--curve', 'p256', '--out', file]);
    const content = readFileSync(file, 'utf8');
    const second = await run(['keygen', '--curve', 'p256', '--out', file]);
    assert.equal(second.status, 1);
    assert.match(second.stderr, /new\.key/);
    assert.equal(readFileSync(file, 'utf8'), content);
    const [scalar] = /[0-9a-f]{64}/.exec(content);
    assert.ok(!`${first.stdout}${first.stderr}${second.stdout}${second.stderr}`.includes(scalar));
  });
});

describe('on a machine that spoils each signature', () => {
  const env = preloaded('libspoiled_signatures.so');

  for (const curve of CURVES) {
    test(`the gateway sends no spoiled signature of a key with verify_signatures: ${curve}`, async (t) => {
      const simulator = await startSimulator();
      t.after(() => simulator.close());
      const [main] = catchAll(writeKey(scratch(t), apiKeyNamed(`vectors ${curve}`)));
      const gateway = await startGateway(t, simulator, { keys: [{ ...main, verify_signatures: true }] }, { env });
      const error = await gateway.refusal(...WHOAMI);
      assert.equal(error.code, code.INTERNAL);
      assert.equal(error.info.reason, 'SIGNING_FAILED');
      assert.deepEqual(simulator.requests(), []);
    });

    test(`without verify_signatures, upstream receives a spoiled signature: ${curve}`, async (t) => {
      const simulator = await startSimulator();
      t.after(() => simulator.close());
      const keys = catchAll(writeKey(scratch(t), apiKeyNamed(`vectors ${curve}`)));
      const gateway = await startGateway(t, simulator, { keys }, { env });
      const error = await gateway.refusal(...WHOAMI);
      assert.equal(error.info.reason, 'GATEWAY_CREDENTIAL_REJECTED');
      assert.equal(simulator.requests().length, 1);
    });
  }
});

describe('a key that verifies its signatures signs:', () => {
  for (const curve of CURVES) {
    test(curve, async (t) => {
      const simulator = await startSimulator();
      t.after(() => simulator.close());
      const key = apiKeyNamed(`vectors ${curve}`);
      const [main] = catchAll(writeKey(scratch(t), key));
      await signsWith(t, simulator, [{ ...main, verify_signatures: true }], key.publicKey);
    });
  }
});

describe('several keys', async () => {
  const simulator = await startSimulator();
  after(() => simulator.close());
  const folder = scratch({ after });
  const fileOf = (name) => writeKey(folder, apiKeyNamed(name), name.replace(' ', '-'));
  const gateway = await startGateway({ after }, simulator, {
    keys: [
      { name: 'main', file: fileOf('vectors p256'), organizations: [ORGANIZATION, subOrganization(2)] },
      { name: 'stranger', file: fileOf('stranger'), organizations: [STRANGER] },
      { name: 'child', file: fileOf('vectors ed25519'), organizations: [subOrganization(1)] },
    ],
  });

  test('sign for the organizations that they list', async () => {
    simulator.clearRequests();
    const wanted = [
      [ORGANIZATION, 'vectors p256'],
      [STRANGER, 'stranger'],
      [subOrganization(1), 'vectors ed25519'],
      [subOrganization(2), 'vectors p256'],
    ];
    for (const [organization] of wanted) await whoami(gateway, organization);
    assert.deepEqual(
      simulator.requests().map(({ publicKey }) => publicKey),
      wanted.map(([, name]) => apiKeyNamed(name).publicKey),
    );
  });

  test('do not sign for an organization that none of them lists, and nothing is sent', async () => {
    simulator.clearRequests();
    const organization_id = subOrganization(3);
    const calls = [
      ['GeneralService/QueryOperation', { organization_id, path: 'not_yet_known' }],
      ['AuthenticationService/Whoami', { organization_id }],
      ['PolicyService/GetPolicy', { organization_id, policy_id: identifier(6) }],
      [
        'OrganizationService/UpdateOrganizationName',
        { organization_id, parameters: { organization_name: 'n' }, timestamp_ms: '1' },
      ],
      // The gateway compares organization ids exactly, including white space.
      ['AuthenticationService/Whoami', { organization_id: `${ORGANIZATION} ` }],
    ];
    for (const [method, request] of calls) {
      const error = await gateway.refusal(method, request);
      assert.equal(error.code, code.PERMISSION_DENIED);
      assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'ORGANIZATION_NOT_SERVED']);
    }
    assert.equal(simulator.stats().requests, 0);
  });

  test('include one for all organizations, which signs for organizations that no key lists', async (t) => {
    simulator.clearRequests();
    const both = await startGateway(t, simulator, {
      keys: [
        { name: 'rest', file: fileOf('vectors secp256k1'), all_organizations: true },
        { name: 'stranger', file: fileOf('stranger'), organizations: [STRANGER] },
      ],
    });
    await whoami(both, STRANGER);
    await whoami(both);
    assert.deepEqual(
      simulator.requests().map(({ publicKey }) => publicKey),
      ['stranger', 'vectors secp256k1'].map((name) => apiKeyNamed(name).publicKey),
    );
  });

  test("include one that upstream does not know for the organization: the error is the gateway's fault", async (t) => {
    const wrong = await startGateway(t, simulator, { keys: catchAll(fileOf('stranger')) });
    const request = { organization_id: ORGANIZATION, policy_id: identifier(6) };
    const error = await wrong.refusal('PolicyService/GetPolicy', request);
    assert.equal(error.code, code.INTERNAL);
    assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'GATEWAY_CREDENTIAL_REJECTED']);
    // The log names the key.
    await wrong.stop();
    const line = wrong.output.split('\n').find((text) => text.includes('call_failed'));
    assert.equal(JSON.parse(line).key, 'main');
  });
});
