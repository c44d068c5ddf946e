// Tests which caller may call which method for which organization, and which key signs. Tests all combinations, and
// random configs.
//
// With STAMPGATE_LONG=1 the test uses 20,000 random calls instead of 2,000. STAMPGATE_SEED=... chooses other random
// values.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { encode, methods } from '../clients/gateway.mjs';
import { inputsOf } from '../clients/operation_inputs.mjs';
import { methodAt, requestAt, typedPaths } from '../clients/typed_messages.mjs';
import { ORGANIZATION, apiKeyNamed, freshTimestamp, stampOf, subOrganization } from '../simulator/testing.mjs';
import { HANG_MS, run, scratch, startStack } from './harness.mjs';
import { operations } from './operations.mjs';
import { asCaller, callerOf, keyOf, publicKeyOf, reconfigure, stampKeyOf, tokenOf } from './policy_callers.mjs';
import {
  CLASSES,
  INTERNAL,
  NEWEST_DAY,
  RELEASE_DAYS,
  STAMPED_BY_CLIENT,
  UNLIMITED,
  UNREAD_DESTINATION,
  covers,
  decide,
  mentions,
} from './policy_oracle.mjs';
import { LONG } from './processes.mjs';
import { Random } from './random.mjs';

const folder = scratch({ after });
const CHILD = subOrganization(1);
/** An organization that exists, but in which our keys are not registered. */
const STRANGER = '33333333-0000-4000-8000-000000000001';
const GHOST = '44444444-0000-4000-8000-000000000001';
const ORGANIZATIONS = [ORGANIZATION, CHILD, STRANGER, GHOST];

const EXPORT_TO = '036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296';
const EXPORT_TO_UNCOMPRESSED =
  '046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
  '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5';
const OTHER_POINT = '037cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978';
const WRAPPER = '0x01abcdef01abcdef01abcdef01abcdef01abcdef';

const DESTINATIONS = [WRAPPER, 'So1anaAddress'];

const KEYS = [
  keyOf(folder, 'main'),
  keyOf(folder, 'other', [ORGANIZATION, CHILD]),
  keyOf(folder, 'treasury', [ORGANIZATION, STRANGER]),
  keyOf(folder, 'cold'),
];

const CALLERS = [
  callerOf('reader', [
    { classes: ['query'], organizations: [ORGANIZATION, GHOST], key: 'main' },
    { methods: ['PolicyService/GetPolicy'], all_organizations: true, key: 'cold' },
  ]),
  callerOf('desk', [
    { classes: ['login', 'events'], all_organizations: true },
    {
      general_operations: [{ path: 'find_teapot' }, { path: 'brew_tea', activity_type: 'ACTIVITY_TYPE_BREW_TEA_V3' }],
      organizations: [CHILD, STRANGER],
    },
  ]),
  callerOf('treasurer', [
    {
      methods: ['EarnService/EarnWithdraw', 'EarnService/EarnDeposit', 'UserService/DeleteApiKeys'],
      organizations: [ORGANIZATION, STRANGER],
      key: 'treasury',
      amount_limits: [{ chain: 'eip155:1', contract: WRAPPER, max_amount: '1000' }],
    },
    {
      // A grant with amount limits cannot name this method: no field states the amount that the key can move.
      methods: ['WalletService/ExportWalletAccount'],
      organizations: [ORGANIZATION, STRANGER],
      key: 'treasury',
      export_public_keys: [EXPORT_TO],
    },
    {
      methods: ['stampgate.v1.OrganizationService/DeleteSubOrganization'],
      organizations: [CHILD],
      dangerous_fields: ['delete_without_export'],
    },
  ]),
  callerOf('keeper', [{ classes: ['write', 'dangerous'], organizations: [CHILD, GHOST], key: 'main' }]),
  callerOf('nobody', []),
];

const { simulator, gateway } = await startStack(
  { after },
  {
    config: {
      ...{ keys: KEYS, callers: CALLERS, class_grants_as_of: undefined },
      ...{ events: { file: join(folder, 'events.db') }, reload_interval: '10m' },
    },
  },
);

beforeEach(async () => {
  simulator.reset();
  if (gateway.config.callers !== CALLERS || gateway.config.class_grants_as_of !== undefined) {
    await reconfigure(gateway, { callers: CALLERS, class_grants_as_of: undefined });
  }
});

/** The operations that operations.mjs does not have: the method, and the least JSON that upstream accepts. */
const laterOperations = typedPaths
  .filter((path) => !path.endsWith('/jwks') && !operations.some((each) => each.path === path))
  .map((path) => {
    const input = [...inputsOf(path, { organizationId: ORGANIZATION })].find(({ name }) => name === 'least').input;
    const { organizationId, timestampMs, type, ...rest } = input;
    const { organization_id, timestamp_ms, ...none } = requestAt(path, input);
    return { method: methodAt(path), none, type, noneJson: type ? rest.parameters : rest };
  });

/** A request of each method, without its organization. */
const REQUESTS = new Map([
  ...[...operations, ...laterOperations].map(({ method, none }) => [method, none]),
  ['GeneralService/QueryOperation', { path: 'find_teapot' }],
  [
    'GeneralService/SubmitOperation',
    { path: 'brew_tea', activity_type: 'ACTIVITY_TYPE_BREW_TEA_V3', parameters: '{"leaves":"l"}' },
  ],
  ['EventService/GetEvent', { event_id: 'none' }],
  ['EventService/ListEvents', { end: 'LOG_END_EARLIEST' }],
  ['EventService/ReadEventBody', { event_id: 'none' }],
  ['EventService/Subscribe', { end: 'LOG_END_EARLIEST' }],
  ['SubscriptionService/Consume', { subscription: 'none' }],
  ['SubscriptionService/DeleteSubscription', { subscription: 'none' }],
  ['SubscriptionService/GetSubscription', { subscription: 'none' }],
  ['SubscriptionService/ListParked', { subscription: 'none' }],
  ['SubscriptionService/ListSubscriptions', {}],
  ['SubscriptionService/RetryParked', { subscription: 'none', cursors: ['none'] }],
  ['SubscriptionService/Seek', { subscription: 'none', end: 'LOG_END_EARLIEST' }],
  ['SubscriptionService/Settle', { subscription: 'none', tokens: ['none'], outcome: 'SETTLE_OUTCOME_DONE' }],
  ['SubscriptionService/SkipParked', { subscription: 'none', cursors: ['none'] }],
  ['WebhookService/GetWebhookKeySet', {}],
]);
const CONCERN_NO_ORGANIZATION = /^(Event|Subscription)Service|GetWebhookKeySet$/;

function questionOf(method, organization_id, changes = {}) {
  const { parameters, ...request } = { ...REQUESTS.get(method), ...changes.request };
  const merged = changes.parameters ? { ...parameters, ...changes.parameters } : parameters;
  return {
    method,
    request: {
      ...request,
      ...(merged !== undefined && { parameters: merged }),
      ...(!CONCERN_NO_ORGANIZATION.test(method) && { organization_id }),
    },
  };
}

const endUser = apiKeyNamed('end user 1');
const isGeneral = (method) => method.startsWith('GeneralService/');
const isStream = (method) => methods.get(method).responseStream;

const isStampedByClient = (method) => STAMPED_BY_CLIENT.includes(method);

/** The JSON of a request, as an end user stamps it. */
function bodyOf(method, organizationId) {
  const envelope = { timestampMs: freshTimestamp(), organizationId };
  if (method === 'GeneralService/QueryOperation') return JSON.stringify({ organizationId });
  if (method === 'GeneralService/SubmitOperation') {
    return JSON.stringify({ type: 'ACTIVITY_TYPE_BREW_TEA_V3', ...envelope, parameters: { leaves: 'l' } });
  }
  const { type, noneJson } = [...operations, ...laterOperations].find((each) => each.method === method);
  return JSON.stringify(type ? { type, ...envelope, parameters: noneJson } : { ...noneJson, organizationId });
}

/** A request for the same organization with an end user's stamp, and the fields that are not in the body. */
function endUserStamped(method, { organization_id, path }) {
  const body = Buffer.from(bodyOf(method, organization_id));
  return { ...(path && isGeneral(method) && { path }), client_stamp: { body, api_key: stampOf(body, endUser) } };
}

/** The response or, of a stream, the first message; or the error. */
async function outcomeOf(name, { method, request }) {
  const caller = asCaller(gateway, name);
  try {
    if (isStampedByClient(method)) return { answer: await caller.call(method, endUserStamped(method, request)) };
    if (!isStream(method)) return { answer: await caller.call(method, request) };
    for await (const answer of caller.stream(method, request)) return { answer };
    return {};
  } catch (error) {
    return { error };
  }
}

/**
 * The bytes of the denial for each caller and method. These bytes must not depend on the organization or the request.
 * Only if no grant of the caller has the method, the error also states what these grants lack.
 */
const denials = new Map();
function isDenied({ error, answer }, name, method, what = method) {
  assert.equal(answer, undefined, what);
  assert.equal(error.code, 7, `${what}: ${error.message}`);
  const { domain, reason, metadata = {} } = error.info;
  const { policy_class, ...asked } = metadata;
  assert.deepEqual([domain, reason, asked], ['stampgate', 'DENIED_BY_POLICY', { caller: name, method }]);
  assert.ok(['query', 'login', 'write', 'dangerous', 'events'].includes(policy_class));
  const { 'x-request-id': ids, ...rest } = error.metadata.toJSON();
  assert.equal(ids.length, 1);
  // Omits the request id, which is random.
  const bytes = JSON.stringify([error.code, error.details, error.statusBytes.toString('hex'), rest]);
  const statesLack = error.details.includes(` ${method}: `);
  if (!isGeneral(method)) assert.equal(statesLack, !mentions(gateway.config, name, method), what);
  const { callers, class_grants_as_of } = gateway.config;
  const { grants } = callers.find((each) => each.name === name);
  const pair = `${name} ${method} ${statesLack ? JSON.stringify([class_grants_as_of, grants]) : ''}`;
  if (!denials.has(pair)) denials.set(pair, bytes);
  assert.equal(bytes, denials.get(pair), what);
}

/** Makes a call and compares the result with the oracle's decision. Returns whether the call was allowed. */
async function checkCall(name, question) {
  const { method, request } = question;
  const what = `${name} ${method} ${JSON.stringify(request)}`;
  const before = simulator.stats();
  const expected = decide(gateway.config, name, question);
  const outcome = await outcomeOf(name, question);
  const after = simulator.stats();
  if (!expected) {
    isDenied(outcome, name, method, what);
    assert.deepEqual([after.requests, after.connections], [before.requests, before.connections], what);
    return false;
  }
  assert.notEqual(outcome.error?.info?.reason, 'DENIED_BY_POLICY', what);
  if (/^(Event|Subscription)Service/.test(method)) {
    assert.equal(after.requests, before.requests, what);
    if (outcome.error) assert.match(outcome.error.info.reason, /^(EVENT|SUBSCRIPTION)_NOT_FOUND$/, what);
    return true;
  }
  assert.equal(after.requests, before.requests + 1, `${what}: ${outcome.error?.message}`);
  const sent = simulator.requests().at(-1);
  if (request.organization_id === undefined) {
    assert.equal(sent.method, 'GET', what);
    return true;
  }
  assert.equal(JSON.parse(sent.body).organizationId, request.organization_id, what);
  const publicKey = isStampedByClient(method) ? endUser.publicKey : publicKeyOf(expected.key);
  assert.equal(stampKeyOf(sent), publicKey, what);
  return true;
}

test('the tables of this test contain every method', () => {
  // Prepare asks the policy for the method that it prepares.
  const all = [...methods.keys()].filter((method) => method !== 'StampService/Prepare').sort();
  assert.deepEqual(Object.keys(CLASSES).sort(), all);
  assert.deepEqual([...REQUESTS.keys()].sort(), all);
});

describe('a caller may make exactly the calls that its grants allow:', { timeout: HANG_MS }, () => {
  // The numbers of allowed calls, counted by hand to check the oracle too. Each caller tries every method for each of 4
  // organizations. The config has no class_grants_as_of, so classes cover only the operations of the first release:
  // - reader: 5 queries for 2 organizations, one of these for the other 2 too, and the query for the key set, which
  //   names no organization, 4 times;
  // - desk: 4 logins and 10 methods of events for all 4, and 2 general operations for 2;
  // - treasurer: the deletion of keys for 2, and of an organization for 1; its other requests exceed its limits;
  // - keeper: 3 changes and 10 dangerous methods for 2, and 2 dangerous methods of shared subscriptions, which name no
  //   organization, 4 times.
  const expectedAllowed = { reader: 16, desk: 60, treasurer: 3, keeper: 34, nobody: 0 };
  for (const { name } of CALLERS) {
    test(name, async () => {
      let allowed = 0;
      for (const method of REQUESTS.keys()) {
        for (const organization of ORGANIZATIONS) {
          const isAllowed = await checkCall(name, questionOf(method, organization));
          allowed += isAllowed;
          if (isAllowed) simulator.reset();
        }
      }
      assert.equal(allowed, expectedAllowed[name]);
    });
  }
});

describe('with class_grants_as_of, classes also cover operations that were added until that day:', () => {
  // The numbers of methods that a caller may call for one organization, counted by hand:
  // - reader: 72 queries without an internal one;
  // - desk: 12 logins, 10 methods of events and 2 general operations;
  // - treasurer: the deletion of an organization;
  // - keeper: 17 changes without an internal one, and 104 dangerous methods without 7 internal ones.
  const expectedAllowed = { reader: 71, desk: 24, treasurer: 1, keeper: 113, nobody: 0 };
  for (const { name } of CALLERS) {
    test(name, { timeout: HANG_MS }, async () => {
      await reconfigure(gateway, { class_grants_as_of: NEWEST_DAY });
      const organization = { reader: GHOST, keeper: GHOST }[name] ?? CHILD;
      const allowed = [];
      for (const method of REQUESTS.keys()) {
        if (await checkCall(name, questionOf(method, organization))) allowed.push(method);
        simulator.reset();
      }
      assert.equal(allowed.length, expectedAllowed[name], allowed.join(' '));
    });
  }

  test('a day before the release changes nothing', async () => {
    const later = 'AuthenticationService/Whoami';
    assert.equal(await checkCall('reader', questionOf(later, ORGANIZATION)), false);
    await reconfigure(gateway, { class_grants_as_of: '2026-09-21' });
    assert.equal(await checkCall('reader', questionOf(later, ORGANIZATION)), false);
    await reconfigure(gateway, { class_grants_as_of: NEWEST_DAY });
    assert.equal(await checkCall('reader', questionOf(later, ORGANIZATION)), true);
  });
});

describe("with an end user's stamp, a caller may make the same calls:", { timeout: HANG_MS }, () => {
  for (const { name } of CALLERS) {
    test(name, async () => {
      const caller = asCaller(gateway, name);
      for (const method of [...REQUESTS.keys()].filter((each) => !CONCERN_NO_ORGANIZATION.test(each))) {
        for (const organization of ORGANIZATIONS) {
          const { request } = questionOf(method, organization);
          const what = `${name} ${method} ${organization}`;
          const preparation = { method, request: encode(method, request) };
          const stamped = endUserStamped(method, request);
          if (decide(gateway.config, name, { method, request })) {
            await caller.call('StampService/Prepare', preparation);
            assert.equal(simulator.stats().requests, 0, what);
            await caller.call(method, stamped).catch(() => {}); // upstream refuses some of these calls
            const [sent, ...others] = simulator.requests();
            assert.equal(sent.body, stamped.client_stamp.body.toString(), what);
            assert.equal(stampKeyOf(sent), endUser.publicKey, what);
            assert.deepEqual(others, []);
            simulator.reset();
          } else {
            isDenied({ error: await caller.refusal('StampService/Prepare', preparation) }, name, method, what);
            isDenied({ error: await caller.refusal(method, stamped) }, name, method, what);
            assert.equal(simulator.stats().requests, 0, what);
          }
        }
      }
    });
  }
});

test('a call without a grant for the method or the organization is denied before the request is validated', async () => {
  const broken = { parameters: { organization_name: '' } };
  const requests = { ...questionOf('OrganizationService/UpdateOrganizationName', ORGANIZATIONS[0]).request, ...broken };
  isDenied(
    await outcomeOf('nobody', { method: 'OrganizationService/UpdateOrganizationName', request: requests }),
    'nobody',
    'OrganizationService/UpdateOrganizationName',
  );
  assert.equal(simulator.stats().requests, 0);
});

test('a denied call is denied whatever its other fields contain', async () => {
  const everything = operations.map(({ method, all }) => ({ method, request: all }));
  for (const question of everything) isDenied(await outcomeOf('nobody', question), 'nobody', question.method);
  assert.equal(simulator.stats().requests, 0);
});

test('a stranger gets the same error for every method and organization', async () => {
  const answers = new Set();
  for (const token of [undefined, 'no-such-token', '0'.repeat(64)]) {
    const metadata = token === undefined ? {} : { authorization: `Bearer ${token}` };
    for (const method of ['PolicyService/GetPolicy', 'EarnService/EarnWithdraw', 'EventService/ListEvents']) {
      for (const organization of ORGANIZATIONS) {
        const { request } = questionOf(method, organization);
        const error = await gateway.refusal(method, request, { metadata });
        assert.deepEqual([error.code, error.info.reason], [16, 'CALLER_NOT_RECOGNIZED']);
        answers.add(error.statusBytes.toString('hex'));
      }
    }
  }
  // The gateway returns one error for a missing token, and another one for a wrong token.
  assert.equal(answers.size, 2);
  assert.equal(simulator.stats().requests, 0);
});

test('the authorization must be exactly one complete bearer token', async () => {
  const { request } = questionOf('PolicyService/GetPolicy', ORGANIZATION);
  const token = tokenOf('reader');
  await gateway.call('PolicyService/GetPolicy', request, { metadata: { authorization: `bEARER ${token}` } });
  for (const authorization of [
    ...[token, `Basic ${token}`, `Bearer${token}`, `Bearer  ${token}`, `Bearer ${token.slice(1)}`, `Bearer ${token}0`],
    ...[`Bearer ${token.toUpperCase()}`, 'Bearer', 'Bearer ', `Bearer ${token},Bearer ${token}`, `Bearer "${token}"`],
  ]) {
    const error = await gateway.refusal('PolicyService/GetPolicy', request, { metadata: { authorization } });
    assert.deepEqual([error.code, error.info.reason], [16, 'CALLER_NOT_RECOGNIZED'], authorization);
    assert.ok(!error.message.includes(token));
  }
  assert.equal(simulator.stats().requests, 1);
});

const allows = (name, ...question) => checkCall(name, questionOf(...question));
const withdrawal = (parameters) => ['EarnService/EarnWithdraw', ORGANIZATION, { parameters }];

describe('amount limits apply to a withdrawal:', () => {
  const within = { amount_value: '1000', chain_caip2: 'EARN_CHAIN_EIP155_1', wrapper_address: WRAPPER };
  for (const [expected, changes] of [
    [true, {}],
    [true, { amount_value: '0' }],
    [true, { wrapper_address: WRAPPER.replaceAll('a', 'A').replaceAll('ef', 'Ef') }],
    [false, { amount_value: '1001' }],
    [false, { amount_value: '10000' }],
    [false, { amount_value: 'MAX' }],
    [false, { amount_value: '340282366920938463463374607431768211456' }],
    [false, { chain_caip2: 'EARN_CHAIN_EIP155_8453' }],
    [false, { wrapper_address: `${WRAPPER.slice(0, -1)}e` }],
    [false, { wrapper_address: `${WRAPPER} ` }],
    [false, { wrapper_address: WRAPPER.slice(2) }],
  ]) {
    test(`${JSON.stringify(changes)} is ${expected ? 'allowed' : 'denied'}`, async () => {
      assert.equal(await allows('treasurer', ...withdrawal({ ...within, ...changes })), expected);
    });
  }

  for (const changes of [
    { chain_caip2: 77 },
    ...['0999', '-1', '1e2', '１', '9'.repeat(79)].map((amount_value) => ({ amount_value })),
  ]) {
    test(`${JSON.stringify(changes)} is invalid and is not sent`, async () => {
      const { error } = await outcomeOf('treasurer', questionOf(...withdrawal({ ...within, ...changes })));
      assert.equal(error.code, 3);
      assert.equal(simulator.stats().requests, 0);
    });
  }
});

describe('amount limits apply to a deposit:', () => {
  const deposit = (parameters) => ['EarnService/EarnDeposit', ORGANIZATION, { parameters }];
  const within = { assets: '1000', chain_caip2: 'EARN_CHAIN_EIP155_1', wrapper_address: WRAPPER };
  for (const [expected, changes] of [
    [true, {}],
    [false, { assets: '1001' }],
    [false, { assets: 'MAX' }],
    [false, { chain_caip2: 'EARN_CHAIN_EIP155_42161' }],
    [false, { wrapper_address: WRAPPER.slice(2) }],
  ]) {
    test(`${JSON.stringify(changes)} is ${expected ? 'allowed' : 'denied'}`, async () => {
      assert.equal(await allows('treasurer', ...deposit({ ...within, ...changes })), expected);
    });
  }
});

test('a grant with amount limits allows no method that moves an amount which no field states', async () => {
  const grant = { classes: ['write', 'dangerous'], all_organizations: true };
  const callers = [
    callerOf('keeper', [grant]),
    callerOf('desk', [{ ...grant, amount_limits: [{ chain: 'eip155:1' }] }]),
  ];
  await reconfigure(gateway, { callers, class_grants_as_of: NEWEST_DAY });
  assert.ok(UNLIMITED.size > 20);
  for (const method of UNLIMITED) {
    assert.equal(await checkCall('desk', questionOf(method, ORGANIZATION)), false, method);
    const isInternal = !(await checkCall('keeper', questionOf(method, ORGANIZATION)));
    assert.equal(isInternal, INTERNAL.has(method), method);
  }
});

test('a grant with destinations allows no method that moves assets to a destination which no field states', async () => {
  const grant = { classes: ['write', 'dangerous'], all_organizations: true };
  await reconfigure(gateway, {
    callers: [callerOf('desk', [{ ...grant, destinations: [WRAPPER] }])],
    class_grants_as_of: NEWEST_DAY,
  });
  assert.ok(UNREAD_DESTINATION.size > 20);
  for (const method of UNREAD_DESTINATION) {
    assert.equal(await checkCall('desk', questionOf(method, ORGANIZATION)), false, method);
  }
});

test("a transaction is sent only if all of its calls are to the grant's destinations", async () => {
  const method = 'TransactionService/EthSendTransaction';
  const grant = { methods: [method], all_organizations: true, destinations: DESTINATIONS };
  await reconfigure(gateway, { callers: [callerOf('desk', [grant])] });
  const upper = `0x${WRAPPER.slice(2).toUpperCase()}`;
  const other = WRAPPER.replace('01', '02');
  for (const [expected, ...receivers] of [
    [true, WRAPPER],
    [true, upper, WRAPPER, 'So1anaAddress'],
    [false, other],
    [false, WRAPPER, other],
    [false, other, WRAPPER],
    [false, `${WRAPPER} `],
    [false, WRAPPER.slice(2)],
    [false, 'so1anaaddress'],
  ]) {
    const calls = receivers.map((to) => ({ to }));
    assert.equal(
      await checkCall('desk', questionOf(method, ORGANIZATION, { parameters: { calls } })),
      expected,
      receivers,
    );
  }
});

test('an organization can be deleted without export only with a grant that lists the dangerous field', async () => {
  const deletion = (delete_without_export) => [
    'OrganizationService/DeleteSubOrganization',
    CHILD,
    { parameters: { delete_without_export } },
  ];
  assert.equal(await allows('treasurer', ...deletion(false)), true);
  assert.equal(await allows('treasurer', ...deletion(true)), true);
  assert.equal(await allows('keeper', ...deletion(false)), true);
  assert.equal(await allows('keeper', ...deletion(true)), false);
});

test("a wallet account can be exported only to the grant's keys, in any of their forms", async () => {
  const asked = (target_public_key) =>
    questionOf('WalletService/ExportWalletAccount', ORGANIZATION, { parameters: { target_public_key } });
  for (const key of [EXPORT_TO, EXPORT_TO_UNCOMPRESSED].flatMap((form) => [form, form.toUpperCase()])) {
    const before = simulator.stats().requests;
    await outcomeOf('treasurer', asked(key));
    assert.equal(simulator.stats().requests, before + 1, key);
    // The gateway sends the key in the form that the caller used.
    assert.equal(JSON.parse(simulator.requests().at(-1).body).parameters.targetPublicKey, key);
  }
  const before = simulator.stats().requests;
  for (const key of [
    ...[OTHER_POINT, `02${EXPORT_TO.slice(2)}`, `06${EXPORT_TO_UNCOMPRESSED.slice(2)}`, EXPORT_TO.slice(2), '00', 'x'],
    ...[`0x${EXPORT_TO}`, `${EXPORT_TO} `, EXPORT_TO + EXPORT_TO, `${EXPORT_TO},${OTHER_POINT}`],
  ]) {
    isDenied(await outcomeOf('treasurer', asked(key)), 'treasurer', asked(key).method, key);
  }
  assert.equal(simulator.stats().requests, before);
});

describe("the policy looks only at the request's organization, and ignores:", () => {
  const granted = CHILD;
  const denied = ORGANIZATION;
  const look = ['organizationId', 'organization_id', 'parentOrganizationId', 'subOrganizationId', 'organizationID'];

  test('the parameters of a general submit', async () => {
    for (const name of look) {
      const parameters = (id) => JSON.stringify({ [name]: id, user: { [name]: id }, list: [{ [name]: id }] });
      const asked = (id, inside) =>
        questionOf('GeneralService/SubmitOperation', id, { request: { parameters: parameters(inside) } });
      assert.equal(await checkCall('desk', asked(denied, granted)), false);
      // The gateway decides by the organization of the envelope, not by the one in the parameters.
      assert.equal(await checkCall('desk', asked(granted, denied)), true);
      assert.equal(JSON.parse(simulator.requests().at(-1).body).organizationId, granted);
    }
  });

  test('the members of a general query', async () => {
    const asked = (id, parameters) =>
      questionOf('GeneralService/QueryOperation', id, { request: { parameters: JSON.stringify(parameters) } });
    for (const name of look) {
      assert.equal(await checkCall('desk', asked(denied, { filter: { [name]: granted } })), false);
      assert.equal(await checkCall('desk', asked(granted, { filter: { [name]: denied } })), true);
      assert.equal(JSON.parse(simulator.requests().at(-1).body).organizationId, granted);
    }
    // The gateway refuses an organizationId at the top level of the parameters. A caller without general operations is
    // denied before that.
    const { requests } = simulator.stats();
    for (const [caller, id, code] of [
      ['desk', granted, 3],
      ['desk', denied, 3],
      ['nobody', granted, 7],
      ['nobody', denied, 7],
    ]) {
      const { error } = await outcomeOf(caller, asked(id, { organizationId: granted }));
      assert.equal(error.code, code, error.message);
    }
    assert.equal(simulator.stats().requests, requests);
  });

  test('the fields of typed requests', async () => {
    const inside = { mfa_policy_name: granted, condition: `organizationId == '${granted}'`, notes: granted };
    assert.equal(await allows('keeper', 'UserService/UpdateMfaPolicy', denied, { parameters: inside }), false);
    assert.equal(
      await allows('keeper', 'OrganizationService/UpdateOrganizationName', denied, {
        parameters: { organization_name: `"organizationId":"${granted}"` },
      }),
      false,
    );
    assert.equal(
      await allows('keeper', 'SmartContractService/CreateSmartContractInterface', granted, {
        parameters: {
          smart_contract_interface: `{"organizationId":"${denied}"}`,
          label: `","organizationId":"${denied}`,
        },
      }),
      true,
    );
    const { organizationId } = JSON.parse(simulator.requests().at(-1).body);
    assert.equal(organizationId, granted);
  });

  test('another spelling of a granted organization', async () => {
    const before = simulator.stats().requests;
    for (const id of [
      ...[` ${granted}`, `${granted} `, `${granted}\n`, `${granted}\u0000`, granted.slice(0, -1)],
      ...[`${granted}0`, `{${granted}}`, granted.replaceAll('-', ''), `urn:uuid:${granted}`, `${granted},${denied}`],
      ...[granted.replaceAll('-', '\u2010'), granted.replace('2', '\uff12'), `${granted}/../${denied}`],
      ...['*', 'all', '%', 'null'],
    ]) {
      assert.equal(await allows('keeper', 'OrganizationService/UpdateOrganizationName', id), false, id);
      assert.equal(await allows('desk', 'GeneralService/QueryOperation', id), false, id);
    }
    assert.equal(simulator.stats().requests, before);
  });

  test('the metadata of a call', async () => {
    const { request } = questionOf('OrganizationService/UpdateOrganizationName', denied);
    const metadata = { 'x-organization-id': granted, 'organization-id': granted, 'x-service-organization-id': granted };
    const error = await asCaller(gateway, 'keeper').refusal('OrganizationService/UpdateOrganizationName', request, {
      metadata,
    });
    isDenied({ error }, 'keeper', 'OrganizationService/UpdateOrganizationName');
    assert.equal(simulator.stats().requests, 0);
  });
});

test('a grant for a general operation allows exactly its pair of path and type', async () => {
  const asked = (request) => questionOf('GeneralService/SubmitOperation', CHILD, { request });
  assert.equal(await checkCall('desk', asked({})), true);
  for (const request of [
    { activity_type: 'ACTIVITY_TYPE_BREW_TEA' },
    { activity_type: 'ACTIVITY_TYPE_BREW_TEA_V2' },
    { activity_type: 'ACTIVITY_TYPE_POUR_TEA' },
    { path: 'pour_tea' },
    { path: 'find_teapot' },
  ]) {
    assert.equal(await checkCall('desk', asked(request)), false);
  }
  const query = (path) => questionOf('GeneralService/QueryOperation', CHILD, { request: { path } });
  assert.equal(await checkCall('desk', query('find_teapot')), true);
  assert.equal(await checkCall('desk', query('brew_tea')), false);
  assert.equal(await checkCall('desk', query('list_teapots')), false);
});

// The code below makes random configs, and some random calls for each config.

function randomGrant(random) {
  const some = (list, end) => Array.from({ length: 1 + random.below(end) }, () => random.pick(list));
  const oneIn = (number) => random.below(number) === 0;
  const grant = {};
  if (!oneIn(3)) grant.classes = [...new Set(some(['query', 'login', 'write', 'dangerous', 'events'], 3))];
  if (oneIn(2))
    grant.methods = some(
      Object.keys(CLASSES).filter((name) => CLASSES[name]),
      6,
    );
  if (oneIn(3) || (!grant.classes && !grant.methods)) {
    grant.general_operations = [
      random.pick([
        { path: 'find_teapot' },
        { path: 'brew_tea', activity_type: 'ACTIVITY_TYPE_BREW_TEA_V3' },
        { path: 'brew_tea', activity_type: 'ACTIVITY_TYPE_BREW_TEA_V2' },
      ]),
    ];
  } else {
    if (oneIn(2)) {
      grant.amount_limits = some(['1', '1000', undefined], 2).map((max_amount) => ({
        chain: random.pick(['eip155:1', 'eip155:8453']),
        ...(oneIn(2) && { contract: WRAPPER }),
        ...(max_amount && { max_amount }),
      }));
    }
    if (oneIn(3)) grant.destinations = some(DESTINATIONS, 2);
    // The gateway refuses a config that names methods for which it cannot check a rule of the grant.
    const checked = grant.methods?.filter(
      (method) =>
        !(grant.amount_limits && UNLIMITED.has(method)) && !(grant.destinations && UNREAD_DESTINATION.has(method)),
    );
    if (checked) grant.methods = checked.length > 0 || grant.classes ? checked : ['EarnService/EarnWithdraw'];
    if (oneIn(2)) grant.export_public_keys = [random.pick([EXPORT_TO, OTHER_POINT])];
  }
  if (oneIn(2)) grant.dangerous_fields = some(['delete_without_export', 'debug_mode'], 2);
  const key = random.pick([undefined, ...KEYS]);
  if (key) grant.key = key.name;
  if (oneIn(3) && !key?.organizations) grant.all_organizations = true;
  else grant.organizations = [...new Set(some(key?.organizations ?? ORGANIZATIONS, 3))];
  return grant;
}

function randomQuestion(random) {
  const amount = () => random.pick(['0', '1', '2', '1000', '1001', 'MAX', '9'.repeat(78)]);
  const place = () => ({
    chain_caip2: random.pick(['EARN_CHAIN_EIP155_1', 'EARN_CHAIN_EIP155_8453', 'EARN_CHAIN_EIP155_137']),
    wrapper_address: random.pick([WRAPPER, WRAPPER.replace('01', '02')]),
  });
  const destination = () => random.pick([...DESTINATIONS, DESTINATIONS[0].toUpperCase().replace('X', 'x')]);
  const deletion = () => ({ delete_without_export: random.below(2) === 0 });
  const exportKey = () => ({ target_public_key: random.pick([EXPORT_TO, OTHER_POINT, `02${'1f'.repeat(32)}`]) });
  const parameters = {
    'EarnService/EarnWithdraw': () => ({ amount_value: amount(), sign_with: destination(), ...place() }),
    'EarnService/EarnDeposit': () => ({ assets: amount(), ...place() }),
    'TransactionService/EthSendTransaction': () => ({ calls: [{ to: destination() }, { to: destination() }] }),
    'OrganizationService/DeleteSubOrganization': deletion,
    'PrivateKeyService/DeletePrivateKeys': deletion,
    'WalletService/DeleteWallets': deletion,
    'WalletService/DeleteWalletAccounts': deletion,
    'TvcService/CreateTvcDeployment': () => ({ debug_mode: random.below(2) === 0 }),
    'PrivateKeyService/ExportPrivateKey': exportKey,
    'WalletService/ExportWallet': exportKey,
    'WalletService/ExportWalletAccount': exportKey,
  };
  // Chooses the methods that have rules for their values, and the methods of old, more often than the other methods.
  const frequent = [...Object.keys(parameters), ...operations.map((each) => each.method)].flatMap((each) =>
    Array(3).fill(each),
  );
  const method = random.pick([...REQUESTS.keys(), ...frequent]);
  const request =
    method === 'GeneralService/SubmitOperation'
      ? { activity_type: `ACTIVITY_TYPE_BREW_TEA${random.pick(['', '_V2', '_V3'])}` }
      : method === 'GeneralService/QueryOperation' && { path: random.pick(['find_teapot', 'brew_tea']) };
  const changes = { parameters: parameters[method]?.(), ...(request && { request }) };
  return questionOf(method, random.pick(ORGANIZATIONS), changes);
}

test('the gateway decides as the oracle for random configs', { timeout: (LONG ? 20 : 1) * HANG_MS }, async (t) => {
  const random = new Random(t);
  const [configs, calls] = [LONG ? 100 : 20, LONG ? 200 : 100];
  const counts = { allowed: 0, denied: 0 };
  for (let i = 0; i < configs; ++i) {
    const callers = CALLERS.map(({ name }) =>
      callerOf(
        name,
        Array.from({ length: random.below(6) }, () => randomGrant(random)),
      ),
    );
    await reconfigure(gateway, { callers, class_grants_as_of: random.pick([undefined, ...RELEASE_DAYS]) });
    simulator.reset();
    for (let n = 0; n < calls; ++n) {
      const { name } = random.pick(CALLERS);
      counts[(await checkCall(name, randomQuestion(random))) ? 'allowed' : 'denied'] += 1;
    }
  }
  t.diagnostic(JSON.stringify(counts));
  assert.equal(counts.allowed + counts.denied, configs * calls);
  assert.ok(counts.allowed > (configs * calls) / 10, 'too few calls are allowed');
  assert.ok(counts.denied > (configs * calls) / 10, 'too few calls are denied');
});

describe('stampgate check --as', () => {
  const check = (name) => run(['check', '--config', gateway.configFile, '--as', name]);

  test('prints what a caller may do', async () => {
    const { status, stdout, stderr } = await check('treasurer');
    assert.equal(stderr, '');
    assert.equal(
      stdout,
      'treasurer may call\n' +
        `grant 1: ${ORGANIZATION}, ${STRANGER}, key treasury, amounts on eip155:1 of ${WRAPPER} up to 1000\n` +
        '  EarnService/EarnDeposit (dangerous)\n' +
        '  EarnService/EarnWithdraw (dangerous)\n' +
        '  UserService/DeleteApiKeys (dangerous)\n' +
        `grant 2: ${ORGANIZATION}, ${STRANGER}, key treasury, exports to 1 keys only\n` +
        '  WalletService/ExportWalletAccount (dangerous)\n' +
        `grant 3: ${CHILD}, with delete_without_export\n` +
        '  OrganizationService/DeleteSubOrganization (dangerous)\n' +
        'where a grant names no key, its calls are signed with\n' +
        `  key other: ${CHILD}\n`,
    );
    assert.equal(status, 0);
  });

  test('agrees with the oracle about every method, and about those that class_grants_as_of would add', async () => {
    const methodsIn = (text) =>
      [...text.matchAll(/^ {2}([A-Za-z0-9]+\/[A-Za-z0-9]+) \(/gm)].map(([, method]) => method);
    for (const { name, grants } of CALLERS) {
      const { stdout } = await check(name);
      const [now, gained = '', ...others] = stdout.split(`would gain with class_grants_as_of: ${NEWEST_DAY}\n`);
      assert.deepEqual(others, []);
      const expected = (test) =>
        Object.keys(CLASSES)
          .filter((method) => grants.some((grant) => test(grant, method)))
          .sort();
      const isCovered = (grant, method) => covers(grant, method);
      const isGained = (grant, method) => !covers(grant, method) && covers(grant, method, NEWEST_DAY);
      assert.deepEqual([...new Set(methodsIn(now))].sort(), expected(isCovered), name);
      assert.deepEqual([...new Set(methodsIn(gained))].sort(), expected(isGained), name);
    }
  });

  test('reports a caller that may do nothing, and an unknown caller', async () => {
    const nobody = { status: 0, signal: null, stdout: 'nobody may call\nnothing\n', stderr: '' };
    assert.deepEqual(await check('nobody'), nobody);
    const { status, stdout, stderr } = await check('stranger');
    assert.deepEqual([status, stdout], [1, '']);
    assert.equal(stderr, `${gateway.configFile}: no caller is called stranger\n`);
  });
});
