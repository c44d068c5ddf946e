// Calls every operation with upstream's own client library. The simulator must know each operation, and accept each
// request of the library. The gateway's typed method must send the same request, and hold the whole response.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HANG_MS } from '../end_to_end/harness.mjs';
import { check } from '../simulator/check.mjs';
import { parse } from '../simulator/json.mjs';
import { paths } from '../simulator/operations.mjs';
import { schema } from '../simulator/schema/kinds.mjs';
import { startSimulator } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { KEY_SET, VOTES, countValues, startForEveryOperation, withoutEmpty } from './every_operation.mjs';
import { encode } from './gateway.mjs';
import { OfficialClient, clientAt, methods } from './official_client.mjs';
import * as inputs from './operation_inputs.mjs';
import { isSentIfUnset, methodAt, pathOf, requestAt, responseJson, typedPaths } from './typed_messages.mjs';

const { ORGANIZATION: organizationId } = testing;
const { isAccepted, membersIn, notInLibrary, operationOf, operationsOfLibrary: operations, valueAt } = inputs;

/** The inputs of the library's method of an operation. */
const inputsOf = (path, choice = 0) => inputs.inputsOf(path, { organizationId, operations, choice });

const client = new OfficialClient();
before(() => client.open());
after(() => client.close());

test('the library has a method for each of 192 operations, and the simulator has all of them and newer ones', () => {
  assert.equal(methods.size, 192);
  assert.deepEqual([...methods.keys()].sort(), paths.filter((path) => !notInLibrary.has(path)).sort());
});

test('each part of the API that the library does not have yet is in the schema', () => {
  const members = Object.entries(schema.messages).flatMap(([message, each]) =>
    [...Object.keys(each), ...Object.keys(schema.names[message] ?? {})].map((name) => `${message}.${name}`),
  );
  const parts = new Set([...paths, ...members, ...Object.values(schema.enums).flat()]);
  assert.ok(notInLibrary.size > 50);
  assert.deepEqual(
    [...notInLibrary].filter((part) => !parts.has(part)),
    [],
  );
});

test("each method posts its input unchanged, and its request has the members of the simulator's schema", async () => {
  let count = 0;
  for (const path of methods.keys()) {
    for (const { name, input } of inputsOf(path)) {
      const sent = await client.send(path, input);
      assert.equal(sent.path, path);
      assert.equal(sent.body, JSON.stringify(input));
      const violations = check(operationOf(path, operations).body, parse(sent.body).value, BigInt(Date.now()));
      assert.deepEqual(violations, [], `${path} ${name}`);
      count += 1;
    }
  }
  assert.ok(count > 700);
});

/** No enum of a request except the activity types has more values than this, and no oneof has more members. */
const CHOICES = 40;
test(
  'the simulator accepts the requests and the stamps of all methods',
  testing.withSimulator(startSimulator, { references: 'any', answers: 'full' }, async (simulator) => {
    const stamping = clientAt(simulator.url, testing.apiKeyNamed('gateway p256'));
    for (const [path, method] of methods) {
      for (const { input } of [...inputsOf(path, 1)].slice(0, 2)) {
        const call = stamping[method](input);
        // The activity of a vote must exist, even if other identifiers need not.
        if (VOTES.includes(path)) await assert.rejects(call, /no such activity/);
        else if (input.type === undefined) await call;
        else assert.equal((await call).activity.type, input.type);
        assert.equal(simulator.requests().at(-1).verdict.outcome, 'accepted');
      }
    }
  }),
);

describe('the typed method of each operation', { timeout: 3 * HANG_MS }, async () => {
  const { simulator, gateway, callTyped, answers } = await startForEveryOperation({ after });

  test('exists', () => assert.deepEqual([...new Set(typedPaths.map(pathOf))].sort(), [...paths, KEY_SET].sort()));

  test('sends a body with all members of the schema, also those that the library does not have yet', async () => {
    for (const path of typedPaths.filter((each) => each !== KEY_SET)) {
      const [{ input }] = inputs.inputsOf(path, { organizationId });
      await callTyped(path, input);
      const sent = simulator.requests().at(-1);
      assert.deepEqual([sent.path, parse(sent.body).value], [pathOf(path), parse(JSON.stringify(input)).value], path);
    }
  });

  /** Fails unless the gateway and the library send the same request. */
  async function assertSame(path, name, input) {
    const library = await client.send(path, input);
    await callTyped(path, input);
    const sent = simulator.requests().at(-1);
    assert.equal(sent.path, path);
    // `parse` keeps the spelling of numbers.
    assert.deepEqual(parse(sent.body).value, parse(library.body).value, `${path} ${name}`);
  }

  test('sends the body of the library, member for member: all members, the least, and one optional member', async () => {
    let count = 0;
    for (const path of methods.keys()) {
      for (const { name, input } of inputsOf(path)) {
        await assertSame(path, name, input);
        count += 1;
      }
    }
    assert.ok(count > 700);
  });

  test('sends the body of the library for each member of a oneof and each value of an enum', async () => {
    let count = 0;
    for (const path of methods.keys()) {
      const seen = new Set();
      for (let choice = 0; choice < CHOICES; ++choice) {
        const [{ input }] = inputsOf(path, choice);
        const content = JSON.stringify({ ...input, timestampMs: undefined });
        if (seen.has(content)) continue;
        seen.add(content);
        await assertSame(path, `choice ${choice}`, input);
        count += 1;
      }
    }
    assert.ok(count > 500);
  });

  test('can be prepared for the stamp of a client: StampService.Prepare returns the body of the library', async () => {
    for (const path of methods.keys()) {
      const [{ input }] = inputsOf(path);
      const library = await client.send(path, input);
      const preparation = { method: methodAt(path), request: encode(methodAt(path), requestAt(path, input)) };
      const { body } = await gateway.call('StampService/Prepare', preparation);
      assert.deepEqual(parse(body.toString()).value, parse(library.body).value, path);
    }
  });

  test('requires what the schema requires, and sends an empty list or text for a required one without presence', async () => {
    let refused = 0;
    let empty = 0;
    for (const path of methods.keys()) {
      for (const choice of [0, 1]) {
        const [{ input }] = inputsOf(path, choice);
        for (const place of membersIn(input)) {
          const body = structuredClone(input);
          const holder = valueAt(body, place.slice(0, -1));
          delete holder[place.at(-1)];
          // The gateway adds the activity type, and chooses a time.
          if (isAccepted(path, body) || ['type', 'timestampMs'].includes(place[0])) continue;
          const preparation = { method: methodAt(path), request: encode(methodAt(path), requestAt(path, body)) };
          const call = gateway.call('StampService/Prepare', preparation);
          const unset = isSentIfUnset(path, place) ? '' : [];
          holder[place.at(-1)] = unset;
          if (isAccepted(path, body)) {
            assert.deepEqual(valueAt(JSON.parse((await call).body), place), unset, `${path} ${place}`);
            empty += 1;
          } else {
            await assert.rejects(call, ({ info }) => info?.reason === 'INVALID_REQUEST', `${path} ${place}`);
            refused += 1;
          }
        }
      }
    }
    assert.ok(refused > 1000 && empty > 100, `${refused} ${empty}`);
  });

  test("returns every member of upstream's answer in a field of its own", async () => {
    let count = 0;
    for await (const { path, json, response } of answers()) {
      assert.equal(response.unrecognized, undefined, path);
      assert.deepEqual(withoutEmpty(responseJson(path, response, 'turnkey')), withoutEmpty(json), path);
      count += countValues(json);
    }
    assert.ok(count > 10_000, `${count} values`);
  });
});
