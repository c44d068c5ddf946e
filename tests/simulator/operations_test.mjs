// Tests every operation of the simulator with bodies that are made from the schema.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bodiesWithOneOptional, bodyOf } from './bodies.mjs';
import { check } from './check.mjs';
import { parse } from './json.mjs';
import { made } from './made.mjs';
import { operationAt, paths } from './operations.mjs';
import { Kinds, schema } from './schema/kinds.mjs';
import { startSimulator } from './server.mjs';
import * as testing from './testing.mjs';

const { ORGANIZATION, freshTimestamp, post } = testing;
const kinds = new Kinds();
const NOW = BigInt(Date.now());
const envelope = () => ({ organizationId: ORGANIZATION, timestampMs: freshTimestamp() });

/** Every operation, and each version of a submit that the specification does not describe. */
const all = paths.flatMap((path) => {
  const operation = operationAt(path, {});
  if (operation.isSpecified || operation.type === undefined) return [operation];
  return Object.keys(schema.operations[path].versions).map((type) => operationAt(path, { type }));
});

const isVote = ({ name }) => ['approve_activity', 'reject_activity'].includes(name);
const violationsOf = (operation, body) => check(operation.body, parse(JSON.stringify(body)).value, NOW);

const withSimulator = (use, options) =>
  testing.withSimulator(startSimulator, { references: 'any', answers: 'full', ...options }, use);

/** The values in a body: the object that contains each, its name there, its path and its kind. */
function* places(kind, value, path = '') {
  for (const [name, member] of Object.entries(kind.members ?? {})) {
    if (!(name in value)) continue;
    const inner = path === '' ? name : `${path}.${name}`;
    yield { holder: value, name, path: inner, kind: member };
    yield* placesIn(member, value[name], inner);
  }
}

function* placesIn(kind, value, path) {
  if (kind.kind === 'object') yield* places(kind, value, path);
  if (kind.kind === 'list') {
    for (const [index, each] of value.entries()) yield* placesIn(kind.of, each, `${path}[${index}]`);
  }
}

describe('every operation', () => {
  for (const extent of ['full', 'least']) {
    test(
      `accepts the ${extent} body, and has a ${extent} answer or result`,
      withSimulator(
        async (simulator) => {
          for (const operation of all.filter((each) => !isVote(each))) {
            const body = bodyOf(operation, envelope(), { extent });
            const { status, text, json } = await post(simulator, operation.path, body);
            assert.equal(status, 200, `${operation.name}: ${text}`);
            if (operation.type !== undefined) hasActivity(json.activity, operation, body);
            hasContent(parse(text).value, operation, extent);
          }
        },
        { answers: extent },
      ),
    );
  }

  function hasActivity({ type, intent, result, appProofs }, operation, { parameters, generateAppProofs }) {
    assert.equal(type, operation.type);
    assert.deepEqual(intent, { [operation.intentKey]: parameters });
    assert.deepEqual(Object.keys(result), [operation.resultKey]);
    assert.equal(appProofs.length, generateAppProofs ? 1 : 0);
  }

  function hasContent(value, { name, type, answer, result, resultKey }, extent) {
    const [kind, content] = type === undefined ? [answer, value] : [result, value.activity.result[resultKey]];
    assert.deepEqual(check(kind, content, NOW), [], name);
    const { members, atMostOneOf: group = [] } = kind;
    const isSet = (member) =>
      extent === 'full' ? !group.includes(member) || member === group[0] : members[member].required;
    assert.deepEqual(Object.keys(content), Object.keys(members).filter(isSet), name);
  }

  test('accepts each member that is not required', () => {
    let count = 0;
    for (const operation of all) {
      for (const { path, body } of bodiesWithOneOptional(operation, envelope)) {
        assert.deepEqual(violationsOf(operation, body), [], `${operation.name} ${path}`);
        const names = path.split('.');
        const isSet = (value, [name, ...rest]) => {
          if (Array.isArray(value)) return value.every((each) => isSet(each, [name, ...rest]));
          if (!(name in value)) return false;
          return rest.length === 0 || isSet(value[name], rest);
        };
        assert.ok(isSet(body, names), `${operation.name} ${path}`);
        count += 1;
      }
    }
    assert.ok(count > 400);
  });

  test('rejects a body without a required member, and one with an unknown member', () => {
    for (const operation of all) {
      const body = bodyOf(operation, envelope());
      for (const { holder, name, path, kind } of [...places(operation.body, body)]) {
        const value = holder[name];
        delete holder[name];
        const fields = violationsOf(operation, body).map(({ field }) => field);
        assert.deepEqual(fields, kind.required ? [path] : [], `${operation.name} ${path}`);
        Object.assign(holder, { [name]: value, stranger: 1 });
        const [{ field, description }] = violationsOf(operation, body);
        assert.match(field, /(?:^|\.)stranger$/);
        assert.equal(description, 'is not a member of this request');
        delete holder.stranger;
      }
    }
  });

  test('rejects values of another type', () => {
    for (const operation of all) {
      const body = bodyOf(operation, envelope());
      for (const { holder, name, path, kind } of [...places(operation.body, body)]) {
        const value = holder[name];
        for (const other of [7, '?', true, {}, [], [7]].filter((each) => !isOfKind(kind, each))) {
          holder[name] = other;
          const isRefused = violationsOf(operation, body).some(({ field }) => field.startsWith(path));
          assert.ok(isRefused, `${operation.name} ${path} ${JSON.stringify(other)}`);
        }
        holder[name] = value;
      }
    }
  });

  /** Whether a value has the JSON type of a kind; in an object, required members may be missing. */
  function isOfKind({ kind, of, members, pattern, minElements }, value) {
    if (kind === 'string') return typeof value === 'string' && (pattern === undefined || pattern.test(value));
    if (kind === 'boolean') return typeof value === 'boolean';
    if (kind === 'ordinal' || kind === 'number') return typeof value === 'number';
    if (kind === 'map') return JSON.stringify(value) === '{}';
    if (kind === 'list') return Array.isArray(value) && (value.length === 0 ? !minElements : isOfKind(of, value[0]));
    if (kind === 'object') {
      return JSON.stringify(value) === '{}' && Object.values(members).every(({ required }) => !required);
    }
    return kind === 'integer' && value === 7;
  }

  test(
    'returns the same activity for a repeated body',
    withSimulator(async (simulator) => {
      for (const operation of all.filter(({ type }) => type !== undefined).filter((each) => !isVote(each))) {
        const body = JSON.stringify(bodyOf(operation, envelope()));
        const [first, again] = [
          await post(simulator, operation.path, body),
          await post(simulator, operation.path, body),
        ];
        assert.equal(first.json.activity.id, again.json.activity.id);
      }
    }),
  );
});

describe('an operation of the schema', () => {
  const name = 'create_wallet';
  const operation = operationAt(`/public/v1/submit/${name}`);
  const create = (simulator, change = () => undefined) => {
    const body = bodyOf(operation, envelope());
    change(body);
    return post(simulator, operation.path, body);
  };

  test(
    'has the same result each time',
    withSimulator(async (simulator) => {
      const results = [await create(simulator), await create(simulator)].map(({ json }) => json.activity.result);
      assert.deepEqual(results[0], results[1]);
    }),
  );

  test(
    'is rejected as an operation of the specification is',
    withSimulator(async (simulator) => {
      const { status, json } = await create(simulator, ({ parameters }) => (parameters.accounts[1].curve = 'CURVE_X'));
      assert.equal(status, 400);
      assert.equal(json.code, 3);
      assert.equal(json.details[0].fieldViolations[0].field, 'parameters.accounts[1].curve');
      assert.equal(json.details.at(-1).serviceErrorCode, 'REQUEST_INVALID');
    }),
  );

  test(
    'names its activity types in the rejection of an unknown type',
    withSimulator(async (simulator) => {
      const { status, json } = await create(simulator, (body) => (body.type += '_V9'));
      assert.equal(status, 400);
      assert.match(json.message, /type must be one of ACTIVITY_TYPE_CREATE_WALLET/);
    }),
  );

  test(
    'repeats its parameters in an error',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'error', code: 'PERMISSION_DENIED' }]);
      const { status, json } = await create(simulator);
      assert.equal(status, 403);
      assert.match(json.message, /accounts\.1\.curve=/);
    }),
  );

  test(
    'waits for votes',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'pending' }]);
      const { id, status } = (await create(simulator)).json.activity;
      assert.equal(status, 'ACTIVITY_STATUS_PENDING');
      const { result } = simulator.endActivity(id);
      assert.deepEqual(Object.keys(result), ['createWalletResult']);
    }),
  );

  test(
    'is an activity that get_activity finds',
    withSimulator(
      async (simulator) => {
        const { activity } = (await create(simulator)).json;
        assert.deepEqual((await testing.query(simulator, 'get_activity', { activityId: activity.id })).json, {
          activity,
        });
        const listed = await testing.query(simulator, 'list_activities', { filterByType: [operation.type] });
        assert.deepEqual(listed.json, { activities: [activity] });
      },
      { answers: 'state' },
    ),
  );

  test(
    'whose request has no app proofs rejects generateAppProofs',
    withSimulator(async (simulator) => {
      const other = operationAt('/public/v1/submit/export_secrets');
      const { status, json } = await post(simulator, other.path, {
        ...bodyOf(other, envelope()),
        generateAppProofs: true,
      });
      assert.equal(status, 400);
      assert.equal(json.details[0].fieldViolations[0].field, 'generateAppProofs');
    }),
  );
});

describe('a member that upstream has renamed', () => {
  const renamed = all.filter((operation) => parametersOf(operation)?.newerNames);

  /** @returns {any} the kind of the parameters */
  function parametersOf({ body }) {
    return body.members.parameters;
  }

  test('is in four operations of Earn', () => {
    const names = ['earn_claim_rewards', 'earn_deploy_wrapper', 'earn_deposit', 'earn_withdraw'];
    assert.deepEqual(renamed.map(({ name }) => name).sort(), names);
  });

  test(
    'is accepted under either name, and is in the intent under the name that it had',
    withSimulator(async (simulator) => {
      for (const operation of renamed) {
        for (const name of ['chainCaip2', 'caip2']) {
          const body = bodyOf(operation, envelope());
          const { chainCaip2, ...others } = body.parameters;
          body.parameters = { ...others, [name]: chainCaip2 };
          const { status, json } = await post(simulator, operation.path, body);
          assert.equal(status, 200, `${operation.name} ${name}`);
          assert.deepEqual(json.activity.intent, { [operation.intentKey]: body.parameters });
        }
      }
    }),
  );

  test('must be given once, and has the rules of its earlier name', () => {
    for (const operation of renamed) {
      const body = bodyOf(operation, envelope());
      const { chainCaip2, ...others } = body.parameters;
      const fieldsOf = (parameters) => violationsOf(operation, { ...body, parameters }).map(({ field }) => field);
      assert.deepEqual(fieldsOf(others), ['parameters.chainCaip2'], operation.name);
      assert.deepEqual(fieldsOf({ ...others, caip2: 'solana:devnet' }), ['parameters.caip2'], operation.name);
      assert.deepEqual(fieldsOf({ ...body.parameters, caip2: chainCaip2 }), ['parameters.caip2'], operation.name);
    }
  });
});

describe('made values', () => {
  test('with all choices have every member of every oneof, and every value of every enum', () => {
    const missing = new Set(Object.values(schema.oneofs).flat());
    const values = new Set(schema.enums.ActivityType.slice(1));
    for (let choice = 0; choice < 200; choice += 1) {
      const activity = made(kinds.message('Activity'), 'activity', { choice });
      assert.equal(Object.keys(activity.intent).length, 1);
      assert.equal(Object.keys(activity.result).length, 1);
      values.delete(activity.type);
      const status = made(kinds.message('GetSendTransactionStatusResponse'), 'status', { choice });
      const control = made(kinds.message('VelocityControl'), 'control', { choice });
      const key = made(kinds.message('SparkKeyDerivation'), 'key', { choice });
      const swap = made(kinds.message('ExecuteSwapIntentV4'), 'swap', { choice });
      const provider = made(kinds.message('OauthProviderParamsV2'), 'provider', { choice });
      JSON.stringify([status, control, key, swap, provider], (name, value) => {
        missing.delete(name);
        return value;
      });
    }
    assert.deepEqual([...missing], []);
    assert.deepEqual([...values], []);
  });

  test('differ at different paths', () => {
    const texts = [];
    JSON.stringify(made(kinds.message('User'), 'user'), (name, value) => {
      if (typeof value === 'string' && /-[0-9a-f]{8}$/.test(value)) texts.push(value);
      return value;
    });
    assert.ok(texts.length > 50);
    assert.equal(new Set(texts).size, texts.length);
  });
});

test(
  'the settings of answers can be changed, and have no other values',
  withSimulator(async (simulator) => {
    const whoami = async () => (await testing.query(simulator, 'whoami')).json;
    assert.match((await whoami()).userId, /^userId-/);
    simulator.change({ answers: 'state' });
    assert.equal((await whoami()).organizationId, ORGANIZATION);
    assert.throws(() => simulator.change({ answers: 'some' }));
    assert.throws(() => simulator.change({ choice: -1 }));
  }),
);
