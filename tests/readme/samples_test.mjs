// Runs each sample of proto/SAMPLES.md with the grants that it shows, and compares the requests that upstream receives.
import assert from 'node:assert/strict';
import { createECDH, randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { blocksOf, commandIn, pageAt } from './pages.mjs';
import { generate, runSample } from './python.mjs';
import { load } from '../clients/packages.mjs';
import { Gateway, HANG_MS, WITHOUT_RETRIES, scratch, writeKey } from '../end_to_end/harness.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, apiKeyNamed } from '../simulator/testing.mjs';

/** The name that upstream's client library includes in the encryption of an export. */
const OPERATOR = 'turnkey';
const { decryptExportBundle } = load('@turnkey/crypto');
const ADDRESS = '0x0404040404040404040404040404040404040404';
const WAITS = { kind: 'pending', approvals: 2 };

/** The sections of the page: their title, with the sample and the grants. */
const sections = new Map(
  pageAt('proto/SAMPLES.md')
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), blocksOf(text)]),
);

/** The title, the path, the activity type and the parameters of each sample that makes one submit. */
const SUBMITS = [
  {
    title: 'Create a sub-organization with a wallet',
    method: 'OrganizationService/CreateSubOrganization',
    path: 'create_sub_organization',
    type: 'ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8',
    parameters: {
      subOrganizationName: 'customer 4711',
      rootUsers: [
        {
          userName: 'signer',
          apiKeys: [
            {
              apiKeyName: 'gateway',
              publicKey: apiKeyNamed('gateway p256').publicKey,
              curveType: 'API_KEY_CURVE_P256',
            },
          ],
          authenticators: [],
          oauthProviders: [],
        },
      ],
      rootQuorumThreshold: 1,
      wallet: {
        walletName: 'main',
        accounts: [
          {
            curve: 'CURVE_SECP256K1',
            pathFormat: 'PATH_FORMAT_BIP32',
            path: "m/44'/60'/0'/0/0",
            addressFormat: 'ADDRESS_FORMAT_ETHEREUM',
          },
        ],
      },
    },
    printed: ({ subOrganizationId, wallet: { walletId, addresses } }) => [subOrganizationId, walletId, ...addresses],
  },
  {
    title: 'Sign a payload',
    method: 'SigningService/SignRawPayload',
    path: 'sign_raw_payload',
    type: 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2',
    parameters: {
      signWith: ADDRESS,
      payload: Buffer.from('receipt 4711').toString('hex'),
      encoding: 'PAYLOAD_ENCODING_HEXADECIMAL',
      hashFunction: 'HASH_FUNCTION_SHA256',
    },
    printed: ({ r, s, v }) => [r, s, v],
  },
  {
    title: 'Sign a transaction',
    method: 'SigningService/SignTransaction',
    path: 'sign_transaction',
    type: 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2',
    parameters: {
      signWith: ADDRESS,
      unsignedTransaction: transaction(),
      type: 'TRANSACTION_TYPE_ETHEREUM',
    },
    printed: ({ signedTransaction }) => [signedTransaction],
  },
];

const APPROVAL = 'Approve an activity';
const EXPORT = 'Export a key';

/** The transaction of the sample, encoded here again: type 2 and the RLP of its fields, as in EIP-1559. */
function transaction() {
  const number = (value) => {
    const hex = value.toString(16);
    return Buffer.from(value === 0 ? '' : hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  };
  const text = (bytes) => {
    const isPlain = bytes.length === 1 && bytes[0] < 0x80;
    return isPlain ? bytes : Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes]);
  };
  const [priority, limit] = [1e9, 20e9].map(number);
  const fields = [number(11155111), number(0), priority, limit, number(21000), Buffer.alloc(20, 2), number(1e15)];
  const list = Buffer.concat([...fields.map(text), text(number(0)), Buffer.from([0xc0])]);
  assert.ok(list.length < 56);
  return Buffer.concat([Buffer.from([2, 0xc0 + list.length]), list]).toString('hex');
}

const blockOf = (title, language) => sections.get(title).find((each) => each.language === language).block;
const sampleOf = (title) => blockOf(title, 'python');
const grantsOf = (title) => blockOf(title, 'yaml');

const folder = scratch({ after });

before(() => generate(folder, commandIn(pageAt('proto/README.md'), 'python3 -m grpc_tools.protoc')));

/**
 * Starts a simulator, and a gateway whose only caller has the grants of the page.
 * @param {object} t
 * @param {string} grants YAML
 * @param {object} [config] merged over the config at its top level
 */
async function start(t, grants, config = {}) {
  const place = scratch(t);
  const simulator = await startSimulator({ operator: OPERATOR });
  t.after(() => simulator.close());
  const key = (name, apiKey) => ({
    name,
    file: writeKey(place, apiKeyNamed(apiKey), `${name}.key`),
    all_organizations: true,
  });
  const whole = {
    listen_address: '127.0.0.1:0',
    upstream: { base_url: simulator.url },
    store: { sqlite: { folder: place } },
    keys: [key('main', 'gateway p256'), key('approver', 'end user 1')],
    admission: WITHOUT_RETRIES,
    ...config,
  };
  const lines = Object.entries(whole).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const caller = `callers:\n  - name: sample\n    loopback: true\n${grants.replaceAll(/^(?=.)/gm, '    ')}`;
  const configFile = join(place, 'stampgate.yaml');
  writeFileSync(configFile, lines.join('') + caller);
  const gateway = await Gateway.start(whole, { folder: place, configFile });
  t.after(() => gateway.stop());
  return { simulator, run: (sample) => runSample(folder, sample, gateway.address) };
}

/** The accepted requests: their last segment, their body and the name of the key that stamped them. */
const received = (simulator) =>
  simulator.requests().map(({ path, body, publicKey, verdict }) => {
    assert.equal(verdict.outcome, 'accepted', verdict.message);
    return { path, body: JSON.parse(body), publicKey };
  });

/** Compares the only request with the expected submit. */
function checkSubmit(simulator, { path, type, parameters }) {
  const [{ path: actual, body, publicKey }, ...more] = received(simulator);
  assert.equal(more.length, 0);
  assert.equal(actual, `/public/v1/submit/${path}`);
  assert.equal(publicKey, apiKeyNamed('gateway p256').publicKey);
  const { timestampMs, ...rest } = body;
  assert.ok(Math.abs(Number(timestampMs) - Date.now()) < HANG_MS);
  assert.deepEqual(rest, { type, organizationId: ORGANIZATION, parameters });
}

const onlyActivity = (simulator) => [...simulator.service.state.activitiesByFingerprint.values()].at(-1);

test('the page has a sample and its grants for each of the five operations', () => {
  assert.deepEqual([...sections.keys()], [...SUBMITS.map(({ title }) => title), EXPORT, APPROVAL]);
  for (const blocks of sections.values()) {
    assert.deepEqual(
      blocks.map(({ language }) => language),
      ['yaml', 'python'],
    );
  }
  assert.equal(blocksOf(pageAt('proto/SAMPLES.md')).length, 10);
});

for (const submit of SUBMITS) {
  const { title, method, printed } = submit;

  describe(`the sample "${title}"`, { timeout: 2 * HANG_MS }, () => {
    test('makes the submit and prints its result', async (t) => {
      const { simulator, run } = await start(t, grantsOf(title));
      const { status, stdout, stderr } = await run(sampleOf(title));
      assert.equal(status, 0, stderr);
      checkSubmit(simulator, submit);
      const [result] = Object.values(onlyActivity(simulator).result);
      assert.equal(stdout, `${printed(result).join(' ')}\n`);
      assert.match(grantsOf(title), new RegExp(`methods: \\[${method}\\]`));
      // A second run has the same idempotency key, and so the same body.
      assert.equal((await run(sampleOf(title))).stdout, stdout);
      assert.equal(new Set(simulator.requests().map(({ body }) => body)).size, 1);
    });

    test('prints the status of an activity that is not completed', async (t) => {
      const { simulator, run } = await start(t, grantsOf(title));
      simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED' }]);
      const { status, stdout, stderr } = await run(sampleOf(title));
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, /^\S+ ACTIVITY_STATUS_FAILED ./);
    });

    test('needs a day if the grant names the class', async (t) => {
      const ofClass = grantsOf(title).replace(/methods: .*/, 'classes: [dangerous]');
      const { simulator, run } = await start(t, ofClass);
      const { status, stderr } = await run(sampleOf(title));
      assert.equal(status, 1);
      assert.match(stderr, /PERMISSION_DENIED/);
      assert.equal(simulator.requests().length, 0);
      const later = await start(t, ofClass, { class_grants_as_of: '2026-09-22' });
      assert.equal((await later.run(sampleOf(title))).status, 0);
    });
  });
}

describe(`the sample "${EXPORT}"`, { timeout: 2 * HANG_MS }, () => {
  const paths = ['export.key', 'export.json'].map((name) => join(folder, name));
  before(() => paths.forEach((path) => rmSync(path, { force: true })));

  test('exports to its key pair if the grant has the key; the client library opens the bundle', async (t) => {
    const stranger = await start(t, grantsOf(EXPORT));
    const { status, stdout: publicKey, stderr } = await stranger.run(sampleOf(EXPORT));
    assert.equal(status, 1);
    assert.match(stderr, /PERMISSION_DENIED/);
    assert.equal(stranger.simulator.requests().length, 0);

    const pair = createECDH('prime256v1');
    pair.setPrivateKey(readFileSync(paths[0], 'utf8'), 'hex');
    assert.equal(publicKey, `${pair.getPublicKey('hex')}\n`);
    assert.equal(statSync(paths[0]).mode & 0o777, 0o600);

    const { simulator, run } = await start(t, grantsOf(EXPORT).replace(/- 04\w+/, `- ${publicKey.trim()}`));
    const second = await run(sampleOf(EXPORT));
    assert.equal(second.status, 0, second.stderr);
    assert.equal(second.stdout, `${publicKey}${ADDRESS}\n`);
    const parameters = { address: ADDRESS, targetPublicKey: publicKey.trim() };
    const type = 'ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT';
    checkSubmit(simulator, { path: 'export_wallet_account', type, parameters });
    const { exportBundle } = onlyActivity(simulator).result.exportWalletAccountResult;
    assert.equal(readFileSync(paths[1], 'utf8'), exportBundle);
    const opened = await decryptExportBundle({
      exportBundle,
      embeddedKey: readFileSync(paths[0], 'utf8'),
      organizationId: ORGANIZATION,
      dangerouslyOverrideSignerPublicKey: JSON.parse(exportBundle).enclaveQuorumPublic,
    });
    assert.match(opened, /^[0-9a-f]{64}$/);
  });
});

describe(`the sample "${APPROVAL}"`, { timeout: 2 * HANG_MS }, () => {
  /** Proposes to rename the organization, with a gateway and a caller of its own. */
  async function propose(simulator, t, name) {
    simulator.addFaults([WAITS]);
    const place = scratch(t);
    const gateway = await Gateway.start(
      {
        listen_address: '127.0.0.1:0',
        upstream: { base_url: simulator.url },
        keys: [{ name: 'main', file: writeKey(place), all_organizations: true }],
        callers: [{ name: 'proposer', loopback: true, grants: [{ classes: ['write'], all_organizations: true }] }],
      },
      { folder: place },
    );
    t.after(() => gateway.stop());
    const request = { organization_id: ORGANIZATION, parameters: { organization_name: name } };
    const { activity } = await gateway.call('OrganizationService/UpdateOrganizationName', request);
    return activity;
  }

  for (const voteAnswer of ['target', 'vote']) {
    test(`approves only the expected activity, if the response contains the ${voteAnswer}`, async (t) => {
      const { simulator, run } = await start(t, grantsOf(APPROVAL));
      simulator.change({ voteAnswer });
      const expected = await propose(simulator, t, 'Example Ltd');
      const other = await propose(simulator, t, `Example ${randomUUID()}`);
      const before = simulator.requests().length;
      const { status, stdout, stderr } = await run(sampleOf(APPROVAL));
      assert.equal(status, 0, stderr);
      const lines = stdout.trimEnd().split('\n');
      // The newest activity is the first one of the page.
      assert.deepEqual(lines, [
        `${other.id} ${other.intent.update_organization_name_intent.organization_name}`,
        `${expected.id} Example Ltd`,
        'ACTIVITY_STATUS_COMPLETED 2',
      ]);
      const [list, vote, reading, ...more] = received(simulator).slice(before);
      assert.equal(more.length, 0);
      assert.equal(list.path, '/public/v1/query/list_activities');
      assert.deepEqual(list.body, {
        organizationId: ORGANIZATION,
        filterByStatus: ['ACTIVITY_STATUS_CONSENSUS_NEEDED'],
        filterByType: ['ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME'],
        paginationOptions: { limit: '100' },
      });
      assert.equal(vote.path, '/public/v1/submit/approve_activity');
      assert.equal(vote.body.type, 'ACTIVITY_TYPE_APPROVE_ACTIVITY');
      assert.deepEqual(vote.body.parameters, { fingerprint: expected.fingerprint });
      assert.equal(reading.path, '/public/v1/query/get_activity');
      assert.deepEqual(reading.body, { organizationId: ORGANIZATION, activityId: expected.id });
      const approver = apiKeyNamed('end user 1').publicKey;
      assert.deepEqual(
        [list, vote, reading].map(({ publicKey }) => publicKey),
        [approver, approver, approver],
      );
    });
  }

  test('approves nothing if the intent has a part that the fields do not hold', async (t) => {
    const { simulator, run } = await start(t, grantsOf(APPROVAL));
    const { id } = await propose(simulator, t, 'Example Ltd');
    const set = { '/activities/0/intent/updateOrganizationNameIntent/alsoDelete': 'true' };
    simulator.addFaults([{ kind: 'mutate', match: { path: 'list_activities' }, set }]);
    const { status, stdout, stderr } = await run(sampleOf(APPROVAL));
    assert.equal(status, 0, stderr);
    assert.equal(stdout, `${id} Example Ltd\n`);
    assert.ok(simulator.requests().every(({ path }) => !path.endsWith('approve_activity')));
  });
});
