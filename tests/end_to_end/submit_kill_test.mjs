// The test kills the gateway during submits. If a caller repeats a submit with the same idempotency key, upstream
// creates one activity for this submit.
//
// STAMPGATE_SEED=... chooses other moments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { HANG_MS } from './harness.mjs';
import { Stack } from './history/stack.mjs';
import { isSanitized, until } from './processes.mjs';
import { Random } from './random.mjs';

const METHOD = 'OrganizationService/UpdateOrganizationName';
const KILLS = isSanitized() ? 20 : 200;

/** The requests that upstream has received for the submit with this name. */
const seenOf = (simulator, name) =>
  simulator
    .requests()
    .filter(({ path }) => path.includes('/submit/'))
    .filter(({ body }) => JSON.parse(body).parameters.organizationName === name);

/** Resolves at a random moment of a submit: after `turns` of the event loop, or when upstream holds the request. */
async function moment(simulator, { turns, isHeld }) {
  if (isHeld) return until(() => simulator.stats().held > 0, 'upstream has the request');
  for (let turn = 0; turn < turns; ++turn) await new Promise(setImmediate);
}

test('a submit is carried out once although the gateway is killed during it', { timeout: 10 * HANG_MS }, async (t) => {
  const random = new Random(t);
  const stack = await Stack.make(t, { withStore: true });
  const { simulator, machine } = stack;
  // Counts kills before upstream received the request, after that, and after the caller got the response.
  const counts = { before: 0, after: 0, answered: 0 };
  await stack.start();
  for (let kill = 0; kill < KILLS; ++kill) {
    const plan = { turns: random.below(150), isHeld: random.below(4) === 0, isPowerCut: random.below(2) === 0 };
    simulator.clearRequests();
    if (plan.isHeld) simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const name = `submit-${kill}`;
    const request = { organization_id: ORGANIZATION, parameters: { organization_name: name }, idempotency_key: name };
    const first = stack.up.call(METHOD, request).catch((error) => error);
    await moment(simulator, plan);
    const wasSeen = seenOf(simulator, name).length > 0;
    await stack.stop('SIGKILL');
    const outcome = await first;
    if (plan.isPowerCut) machine.cutPower(random);
    simulator.clearFaults();
    simulator.release();
    // After each crash the timestamps begin further ahead of the clock. Advances the clock so that submits are not
    // refused.
    stack.passTime(stack.behindMs);
    await stack.start();

    const { activity } = await stack.up.call(METHOD, request);
    const seen = seenOf(simulator, name);
    assert.equal(new Set(seen.map(({ body }) => body)).size, 1, `${name}: upstream saw ${seen.length} requests`);
    if (!(outcome instanceof Error)) assert.equal(outcome.activity.id, activity.id);
    const seenFirst = wasSeen ? 'after' : 'before';
    counts[outcome instanceof Error ? seenFirst : 'answered'] += 1;
  }
  await stack.stop('SIGTERM');
  assert.deepEqual(stack.faults, []);
  t.diagnostic(`kills: ${JSON.stringify(counts)}`);
  for (const count of [counts.before, counts.after]) assert.ok(count > KILLS / 20, JSON.stringify(counts));
});
