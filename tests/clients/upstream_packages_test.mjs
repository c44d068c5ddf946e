// Runs upstream's own client libraries against the simulator. The simulator must accept the requests of these
// libraries, as upstream does. The test then damages these requests in many ways, and the simulator must reject them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { readFixture, startSimulator } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { load } from './packages.mjs';

const { TurnkeyClient: Client } = load('@turnkey/http');
const { ApiKeyStamper } = load('@turnkey/api-key-stamper');

const { apiKeyNamed, freshTimestamp, identifier, post, readVectors, subOrganization } = testing;

/** The names of the client library's methods that cannot be derived from the path. */
const METHODS = { list_wallet_accounts: 'getWalletAccounts', list_activities: 'getActivities' };

/**
 * The optional members of each operation (without the index of list elements), and the members of its result. This
 * table is independent of the simulator's table, so that the test finds mistakes in the simulator's table.
 */
const OPERATIONS = {
  oauth2_authenticate: { optional: ['parameters.bearerTokenTargetPublicKey'], result: ['oidcToken'] },
  oauth: {
    optional: ['parameters.apiKeyName', 'parameters.expirationSeconds', 'parameters.invalidateExisting'],
    result: ['userId', 'apiKeyId', 'credentialBundle'],
  },
  create_session_profile: {
    optional: ['parameters.expirationSeconds', 'parameters.notes'],
    result: ['sessionProfileId'],
  },
  delete_webhook_endpoint: { optional: [], result: ['endpointId'] },
  create_oauth_providers: {
    optional: ['parameters.oauthProviders.oidcToken', 'parameters.oauthProviders.oidcClaims'],
    result: ['providerIds'],
    keys: ['createOauthProvidersIntentV2', 'createOauthProvidersResultV2'],
  },
  create_policies: {
    optional: ['condition', 'consensus', 'time'].map((name) => `parameters.policies.${name}`),
    result: ['policyIds'],
  },
  earn_withdraw: { optional: ['parameters.sponsor'], result: ['withdrawRequestId'] },
  create_smart_contract_interface: { optional: ['parameters.notes'], result: ['smartContractInterfaceId'] },
  stamp_login: {
    optional: ['expirationSeconds', 'invalidateExisting', 'sessionProfileId'].map((name) => `parameters.${name}`),
    result: ['session'],
  },
  verify_otp: {
    optional: ['parameters.expirationSeconds'],
    result: ['verificationToken'],
    keys: ['verifyOtpIntentV2', 'verifyOtpResult'],
  },
  create_oauth2_credential: { optional: [], result: ['oauth2CredentialId'] },
  delete_oauth_providers: { optional: [], result: ['providerIds'] },
  delete_api_keys: { optional: [], result: ['apiKeyIds'] },
  export_wallet_account: { optional: [], result: ['address', 'exportBundle'] },
  delete_sub_organization: { optional: ['parameters.deleteWithoutExport'], result: ['subOrganizationUuid'] },
  update_organization_name: { optional: [], result: ['organizationId', 'organizationName'] },
  update_mfa_policy: {
    optional: [
      'parameters.mfaPolicyName',
      'parameters.condition',
      'parameters.requiredAuthenticationMethods',
      'parameters.requiredAuthenticationMethods.any.id',
      'parameters.order',
      'parameters.notes',
    ],
    result: ['mfaPolicyId'],
  },
  list_activities: {
    optional: [
      ...['filterByStatus', 'filterByType', 'paginationOptions'],
      ...['limit', 'before', 'after'].map((name) => `paginationOptions.${name}`),
    ],
    answer: 'activities',
  },
  get_activity: { optional: [], answer: 'activity' },
  list_wallet_accounts: {
    optional: [
      'walletId',
      'includeWalletDetails',
      'paginationOptions',
      ...['limit', 'before', 'after'].map((name) => `paginationOptions.${name}`),
    ],
    answer: 'accounts',
  },
  get_wallet_account: { optional: ['address', 'path'], answer: 'account' },
  get_authenticators: { optional: [], answer: 'authenticators' },
  get_mfa_policies: { optional: [], answer: 'mfaPolicies' },
  get_policy: { optional: [], answer: 'policy' },
};

const ACTIVITY_MEMBERS = [
  ...['id', 'organizationId', 'status', 'type', 'intent', 'result', 'votes', 'appProofs', 'fingerprint'],
  ...['canApprove', 'canReject', 'createdAt', 'updatedAt', 'failure'],
];

const camelCase = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

/**
 * Returns the input of the client library's method for `operation`, with every optional member. This is the input of
 * the recorded request, but a deletion names an organization that the test may delete.
 */
function inputOf(operation) {
  const recorded = readVectors('sdk-requests.json').requests.find((each) => each.operation === operation);
  const input = structuredClone(recorded.input);
  if (operation === 'delete_sub_organization') input.organizationId = subOrganization(2);
  if ('timestampMs' in input) input.timestampMs = freshTimestamp();
  return input;
}

/**
 * For each value in a body, yields the object or list that contains the value, the value's name or index there, the
 * value's path as error messages write it, and the value's path in OPERATIONS.
 */
function* places(holder, path = '', plainPath = '') {
  for (const name of Object.keys(holder)) {
    const isElement = Array.isArray(holder);
    const inner = isElement ? `${path}[${name}]` : [path, name].filter(Boolean).join('.');
    const plainInner = isElement ? plainPath : [plainPath, name].filter(Boolean).join('.');
    yield { holder, name, path: inner, plainPath: plainInner, isElement, value: holder[name] };
    if (typeof holder[name] === 'object') yield* places(holder[name], inner, plainInner);
  }
}

function isOptional(operation, plainPath) {
  return plainPath === 'generateAppProofs' || OPERATIONS[operation].optional.includes(plainPath);
}

/** Returns the input without its optional members. */
function minimal(operation, input) {
  const body = structuredClone(input);
  for (const place of [...places(body)]) {
    if (!place.isElement && isOptional(operation, place.plainPath)) delete place.holder[place.name];
  }
  return body;
}

/** Returns a copy of the body, changed at the path of the given place. */
function changedAt(body, { path }, change) {
  const copy = structuredClone(body);
  const place = [...places(copy)].find((each) => each.path === path);
  change(place.holder, place.name);
  return copy;
}

function clientOf(simulator, apiKey = apiKeyNamed('gateway p256')) {
  const stamper = new ApiKeyStamper({ apiPrivateKey: apiKey.privateKey, apiPublicKey: apiKey.publicKey });
  return new Client({ baseUrl: simulator.url }, stamper);
}

async function callWithPackage(simulator, operation, input) {
  const answer = await clientOf(simulator)[METHODS[operation] ?? camelCase(operation)](input);
  return { answer, request: simulator.requests().at(-1) };
}

const withSimulator = (use, options) => {
  const fixture = { ...readFixture(), openActivities: [testing.OPEN_ACTIVITY] };
  return testing.withSimulator(startSimulator, { fixture, ...options }, use);
};

for (const operation of Object.keys(OPERATIONS)) {
  const { result, answer: answerMember, keys } = OPERATIONS[operation];
  const isSubmit = result !== undefined;
  const path = `/public/v1/${isSubmit ? 'submit' : 'query'}/${operation}`;

  describe(operation, () => {
    for (const [variant, change] of [
      ['every optional member', (input) => input],
      ['no optional member', (input) => minimal(operation, input)],
    ]) {
      test(
        `the simulator accepts the package's request, with ${variant}`,
        withSimulator(async (simulator) => {
          const input = change(inputOf(operation));
          const { answer, request } = await callWithPackage(simulator, operation, input);
          assert.equal(request.path, path);
          assert.deepEqual(request.verdict, { outcome: 'accepted', status: 200 });
          if (isSubmit) checkActivity(answer.activity, input, request);
          else assert.deepEqual(Object.keys(answer), [answerMember]);
        }),
      );
    }

    function checkActivity(activity, input, request) {
      const stem = camelCase(operation);
      const [intentKey, resultKey] = keys ?? [`${stem}Intent`, `${stem}Result`];
      assert.deepEqual(Object.keys(activity), ACTIVITY_MEMBERS);
      assert.equal(activity.organizationId, input.organizationId);
      assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
      assert.equal(activity.type, input.type);
      assert.deepEqual(activity.intent, { [intentKey]: input.parameters });
      assert.deepEqual(Object.keys(activity.result), [resultKey]);
      assert.deepEqual(Object.keys(activity.result[resultKey]), result);
      assert.equal(activity.fingerprint, `sha256:${createHash('sha256').update(request.body).digest('hex')}`);
      assert.equal(activity.votes.length, 1);
      assert.equal(activity.votes[0].message, request.body);
      assert.equal(activity.votes[0].publicKey, apiKeyNamed('gateway p256').publicKey);
      assert.equal(activity.appProofs.length, input.generateAppProofs ? 1 : 0);
      assert.match(activity.createdAt.seconds, /^[0-9]+$/);
      assert.equal(activity.failure, null);
    }

    /** Calls `use` with the body that the client library sends, and a simulator that has not received this body. */
    const withBody = (use) =>
      withSimulator(async (simulator) => {
        const { request } = await callWithPackage(simulator, operation, inputOf(operation));
        simulator.reset();
        await use(simulator, JSON.parse(request.body), request);
      });

    /** Sends a changed body with a new, valid stamp, so that the simulator can reject it only for its content. */
    async function isRefused(simulator, body, member) {
      const { status, json } = await post(simulator, path, body);
      assert.equal(status, 400, `${member}: ${JSON.stringify(json)}`);
      assert.equal(json.code, 3);
      assert.ok(json.message.includes(member), `${json.message} does not name ${member}`);
      assert.ok(json.details[0].fieldViolations.some(({ field }) => field === member));
    }

    test(
      'a body is rejected if it lacks a member that is not optional',
      withBody(async (simulator, body) => {
        for (const place of [...places(body)].filter(({ isElement }) => !isElement)) {
          simulator.reset();
          const without = changedAt(body, place, (holder, name) => delete holder[name]);
          if (isOptional(operation, place.plainPath)) {
            assert.equal((await post(simulator, path, without)).status, 200, place.path);
          } else {
            await isRefused(simulator, without, place.path);
          }
        }
      }),
    );

    test(
      'an unknown member is rejected in every object',
      withBody(async (simulator, body) => {
        await isRefused(simulator, { ...body, stranger: 1 }, 'stranger');
        for (const place of places(body)) {
          if (typeof place.value !== 'object' || Array.isArray(place.value)) continue;
          const altered = changedAt(body, place, (holder, name) => (holder[name].stranger = 'x'));
          await isRefused(simulator, altered, `${place.path}.stranger`);
        }
      }),
    );

    test(
      'a value of another type is rejected',
      withBody(async (simulator, body) => {
        const samples = ['text', 1, true, {}, []];
        const kindOf = (value) => (Array.isArray(value) ? 'array' : typeof value);
        for (const place of places(body)) {
          for (const sample of samples.filter((each) => kindOf(each) !== kindOf(place.value))) {
            const altered = changedAt(body, place, (holder, name) => (holder[name] = sample));
            await isRefused(simulator, altered, place.path);
          }
        }
      }),
    );

    test(
      'a value that its enum does not list is rejected',
      withBody(async (simulator, body) => {
        const isConstant = ({ value }) => /^(?:[A-Z0-9]+_[A-Z0-9_]+|eip155:[0-9]+)$/.test(value);
        for (const place of [...places(body)].filter(isConstant)) {
          for (const spelling of [`${place.value}X`, place.value.toLowerCase().replace('eip', 'EIP'), '']) {
            const altered = changedAt(body, place, (holder, name) => (holder[name] = spelling));
            await isRefused(simulator, altered, place.path);
          }
        }
      }),
    );

    test(
      'a member that occurs twice is rejected',
      withBody(async (simulator, body) => {
        for (const place of [...places(body)].filter(({ isElement }) => !isElement)) {
          const marked = JSON.stringify(changedAt(body, place, (holder, name) => (holder[name] = '@twice@')));
          const value = JSON.stringify(place.value);
          const text = marked.replace('"@twice@"', () => `${value},${JSON.stringify(place.name)}:${value}`);
          await isRefused(simulator, text, place.path);
        }
      }),
    );

    test(
      'a body changed after stamping is rejected',
      withBody(async (simulator, body, { body: text, headers }) => {
        const bytes = Buffer.from(text);
        for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
          const flipped = Buffer.from(bytes);
          flipped[at] ^= 0x01;
          const kept = headers.filter(([name]) => /^(?:x-stamp|content-type|accept)$/i.test(name));
          const { status, json } = await testing.exchange(simulator.url + path, { headers: kept, body: flipped });
          assert.equal(status, 401);
          assert.equal(json.code, 16);
        }
      }),
    );

    if (isSubmit) {
      const NOW = Date.now();
      const cases = [
        ['one hour old', -3_600_000, false],
        ['a little less than one hour old', -3_599_999, true],
        ['five minutes ahead', 300_000, true],
        ['a little more than five minutes ahead', 300_001, false],
      ];
      for (const [name, offset, isAccepted] of cases) {
        const title = `a timestampMs that is ${name} is ${isAccepted ? 'accepted' : 'rejected'}`;
        test(
          title,
          withSimulator(
            async (simulator) => {
              const body = { ...inputOf(operation), timestampMs: String(NOW + offset) };
              if (isAccepted) assert.equal((await post(simulator, path, body)).status, 200);
              else await isRefused(simulator, body, 'timestampMs');
            },
            { now: () => NOW },
          ),
        );
      }
    }
  });
}

test(
  "the packages report a rejected request with upstream's message",
  withSimulator(async (simulator) => {
    const call = clientOf(simulator).getPolicy({ organizationId: testing.ORGANIZATION, policyId: identifier(999) });
    await assert.rejects(call, (error) => error.code === 5 && error.message.includes('no such policy'));
  }),
);

test(
  'the packages return an activity that waits for consensus',
  withSimulator(async (simulator) => {
    simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED' }]);
    const { answer } = await callWithPackage(simulator, 'create_policies', inputOf('create_policies'));
    assert.equal(answer.activity.status, 'ACTIVITY_STATUS_CONSENSUS_NEEDED');
    assert.deepEqual(answer.activity.result, {});
  }),
);
