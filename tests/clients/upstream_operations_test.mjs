// Calls every operation with upstream's own client library. The simulator must know each operation, and accept each
// request of the library.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { check } from '../simulator/check.mjs';
import { parse } from '../simulator/json.mjs';
import { paths } from '../simulator/operations.mjs';
import { startSimulator } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { OfficialClient, clientAt, methods } from './official_client.mjs';
import { inputsOf, operationOf } from './operation_inputs.mjs';

const { ORGANIZATION: organizationId } = testing;

const client = new OfficialClient();
before(() => client.open());
after(() => client.close());

test('the library has a method for each of the 192 operations, and the simulator knows the same operations', () => {
  assert.equal(methods.size, 192);
  assert.deepEqual([...methods.keys()].sort(), [...paths].sort());
});

test("each method posts its input unchanged, and its request has the members of the simulator's schema", async () => {
  let count = 0;
  for (const path of methods.keys()) {
    for (const { name, input } of inputsOf(path, { organizationId })) {
      const sent = await client.send(path, input);
      assert.equal(sent.path, path);
      assert.equal(sent.body, JSON.stringify(input));
      const violations = check(operationOf(path).body, parse(sent.body).value, BigInt(Date.now()));
      assert.deepEqual(violations, [], `${path} ${name}`);
      count += 1;
    }
  }
  assert.ok(count > 700);
});

const VOTES = ['/public/v1/submit/approve_activity', '/public/v1/submit/reject_activity'];

test('the simulator accepts the requests and the stamps of all methods', testing.withSimulator(
  startSimulator,
  { references: 'any', answers: 'full' },
  async (simulator) => {
    const stamping = clientAt(simulator.url, testing.apiKeyNamed('gateway p256'));
    for (const [path, method] of methods) {
      for (const { input } of [...inputsOf(path, { organizationId, choice: 1 })].slice(0, 2)) {
        const call = stamping[method](input);
        // The activity of a vote must exist, even if other identifiers need not.
        if (VOTES.includes(path)) await assert.rejects(call, /no such activity/);
        else if (input.type === undefined) await call;
        else assert.equal((await call).activity.type, input.type);
        assert.equal(simulator.requests().at(-1).verdict.outcome, 'accepted');
      }
    }
  },
));
