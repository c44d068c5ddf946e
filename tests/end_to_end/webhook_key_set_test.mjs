// Tests the key set with which the gateway verifies deliveries: how the gateway fetches the key set, how its keys
// change, and failures.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const JWKS_PATH = '/public/v1/discovery/webhooks/jwks';
const ONCE = { maxAttempts: 1 };
// The number of times that the gateway may fetch the key set in a row.
const FETCHES_IN_A_ROW = 3;
const FAST = { webhooks: { settings: { retryMs: 10, maxRetryMs: 50 } } };

describe('the key set', { timeout: HANG_MS }, () => {
  /** The statuses of the attempts at an event until it was acknowledged, each listed once. */
  const statusesOf = async ({ done }) => {
    const [{ state, attempts }] = await done;
    assert.equal(state, 'acknowledged');
    return [...new Set(attempts.map(({ status }) => status))];
  };

  it('is fetched for a new key, and deliveries with this key wait for it', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { simulator: FAST });
    const { webhooks } = simulator;
    assert.equal((await deliver(simulator)).status, 200);
    const seed = 'ab'.repeat(32);
    webhooks.keys.add({ kid: 'new', seed, published: false });
    const sent = webhooks.send();
    await webhooks.waitFor({ attempts: 4, timeoutMs: HANG_MS });
    webhooks.keys.add({ kid: 'new', seed });
    assert.deepEqual(await statusesOf(sent), [503, 200]);
    const [, event] = await listAll(gateway);
    assert.deepEqual([event.event_id, event.signature.key_id], [sent.eventId, 'new']);
  });

  it('is fetched again if it gets a new key just after a fetch', async (t) => {
    const webhooks = { min_key_set_interval: '10m' };
    const { simulator } = await startEventStack(t, { simulator: { webhooks: { settings: ONCE } }, webhooks });
    assert.equal((await deliver(simulator)).status, 200);
    simulator.webhooks.keys.add();
    assert.equal((await deliver(simulator)).status, 200);
  });

  it('may have two keys with one id: the gateway uses the first', async (t) => {
    const stack = await prepareEventStack(t, { simulator: { webhooks: { settings: ONCE } } });
    const { keys } = stack.simulator.webhooks;
    const [first] = keys.document().keys;
    const { x } = keys.add({ published: false, signing: false });
    keys.publish({ ...first, x });
    await stack.start();
    assert.equal((await deliver(stack.simulator)).status, 200);
  });

  it('may have keys with ids of any form', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { simulator: FAST });
    const ids = ['a.b', 'a+b/c=', 'a key', '{"k":1.5}', 'x'.repeat(1024)];
    for (const kid of ids) {
      simulator.webhooks.keys.add({ kid });
      assert.equal((await deliver(simulator)).status, 200, kid);
    }
    assert.deepEqual(
      (await listAll(gateway)).map(({ signature }) => signature.key_id),
      ids,
    );
  });

  it('can change: the gateway uses new keys, and no longer accepts a removed key', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { simulator: FAST });
    const { webhooks } = simulator;
    const [{ kid: old }] = webhooks.keys.list();
    assert.equal((await deliver(simulator)).status, 200);
    const { kid } = webhooks.keys.add();
    assert.equal((await deliver(simulator)).status, 200);
    webhooks.keys.drop(old);
    assert.equal((await deliver(simulator)).status, 200);
    const third = webhooks.keys.add();
    assert.equal((await deliver(simulator)).status, 200);
    const ids = (await listAll(gateway)).map(({ signature }) => signature.key_id);
    assert.deepEqual(ids, [old, kid, kid, third.kid]);

    webhooks.change(ONCE);
    webhooks.keys.add({ ...webhooks.keys.initial[0], published: false });
    assert.equal((await deliver(simulator)).status, 503);
  });

  it('that cannot be fetched yet makes deliveries wait', async (t) => {
    const stack = await prepareEventStack(t, { simulator: FAST });
    const { simulator } = stack;
    simulator.addFaults([{ kind: 'status', status: 500, match: { path: JWKS_PATH }, times: 'always' }]);
    const gateway = await stack.start();
    const sent = simulator.webhooks.send();
    await simulator.webhooks.waitFor({ attempts: 3, timeoutMs: HANG_MS });
    simulator.clearFaults();
    assert.deepEqual(await statusesOf(sent), [503, 200]);
    assert.deepEqual(idsOf(await listAll(gateway)), [sent.eventId]);
  });

  for (const [title, fault] of [
    ['is not answered', { kind: 'readAndClose' }],
    ['is not JSON', { kind: 'nonJson' }],
    ['is a redirect', { kind: 'redirect' }],
    ['is an error', { kind: 'error' }],
    ['is empty', { kind: 'mutate', set: { '/keys': '[]' } }],
    ['is cut off', { kind: 'truncated' }],
    ['is too large', { kind: 'oversized', bytes: 10_000_000 }],
  ]) {
    it(`that ${title} makes a delivery wait until the key set is complete`, async (t) => {
      const stack = await prepareEventStack(t, { simulator: FAST });
      const { simulator } = stack;
      simulator.addFaults([{ ...fault, match: { path: JWKS_PATH }, times: 2 }]);
      const gateway = await stack.start();
      const sent = simulator.webhooks.send();
      assert.deepEqual(await statusesOf(sent), [503, 200]);
      assert.deepEqual(idsOf(await listAll(gateway)), [sent.eventId]);
    });
  }

  it('that can no longer be fetched does not affect the known keys', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { simulator: FAST });
    const { webhooks } = simulator;
    assert.equal((await deliver(simulator)).status, 200);
    simulator.addFaults([{ kind: 'status', status: 503, match: { path: JWKS_PATH }, times: 'always' }]);
    webhooks.change(ONCE);
    const unknown = { kind: 'keyId', value: 'unknown' };
    const fetches = () => simulator.stats().paths[JWKS_PATH].requests;
    const before = fetches();
    while (fetches() === before) assert.equal((await deliver(simulator, { faults: [unknown] })).status, 503);
    for (let i = 0; i < 3; i += 1) assert.equal((await deliver(simulator)).status, 200);
    assert.equal((await listAll(gateway)).length, 4);
  });

  it('whose server is down permanently does not affect the known keys', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { simulator: FAST });
    assert.equal((await deliver(simulator)).status, 200);
    simulator.server.close();
    simulator.server.closeAllConnections();
    assert.equal((await deliver(simulator)).status, 200);
    assert.equal((await listAll(gateway)).length, 2);
  });

  it('that has expired is not used while a new one is fetched: a withdrawn key gets 503', async (t) => {
    const settings = { ...ONCE, cacheControl: 'max-age=1, must-revalidate' };
    const { simulator, gateway } = await startEventStack(t, { simulator: { webhooks: { settings } } });
    const { webhooks } = simulator;
    const [{ kid }] = webhooks.keys.list();
    assert.equal((await deliver(simulator)).status, 200);
    webhooks.keys.add({ signing: false });
    webhooks.keys.drop(kid);
    simulator.addFaults([{ kind: 'slow', untilReleased: true, match: { path: JWKS_PATH } }]);

    // The withdrawn key signs all of these deliveries. The first one after the set has expired waits for the fetch.
    const held = simulator.waitFor({ held: 1 }).then(() => true);
    let last;
    do last = deliver(simulator);
    while (!(await Promise.race([held, last.then(() => false)])));
    const another = deliver(simulator);
    simulator.release();
    assert.deepEqual([(await last).status, (await another).status], [503, 503]);
    assert.equal((await deliver(simulator)).status, 503);
    await gateway.stop();
    const outcomes = logged(gateway, 'delivery_not_stored').map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['missing_key', 'missing_key', 'missing_key']);
  });

  it('may contain unusable keys, which the gateway ignores', async (t) => {
    const stack = await prepareEventStack(t, { simulator: FAST });
    const { simulator } = stack;
    simulator.webhooks.keys.publishBroken();
    const broken = simulator.webhooks.keys.published.filter(({ key }) => key === undefined).length;
    const gateway = await stack.start();
    const { eventId, status } = await deliver(simulator);
    assert.equal(status, 200);
    assert.deepEqual(idsOf(await listAll(gateway)), [eventId]);
    await gateway.stop();
    assert.equal(logged(gateway, 'key_refused').length, broken);
  });

  for (const [title, change] of [
    ['another algorithm', { service_signature_algorithm: 'ed448' }],
    ['another version', { service_signature_version: 'v2' }],
  ]) {
    it(`may have a key for ${title}: deliveries with this key wait`, async (t) => {
      const stack = await prepareEventStack(t, { simulator: { webhooks: { settings: ONCE } } });
      const { keys } = stack.simulator.webhooks;
      const { kid, x } = keys.add({ published: false });
      keys.publish({ ...keys.document().keys[0], kid, x, ...change });
      const gateway = await stack.start();
      assert.equal((await deliver(stack.simulator)).status, 503);
      assert.deepEqual(await listAll(gateway), []);
      await gateway.stop();
      const outcomes = logged(gateway, 'delivery_not_stored').map(({ outcome }) => outcome);
      assert.deepEqual(outcomes, ['invalid_verification_key_algorithm']);
    });
  }

  it('is fetched a few times in a row, however many deliveries wait, and then at most at the configured interval', async (t) => {
    const webhooks = { min_key_set_interval: '10m' };
    const { simulator } = await startEventStack(t, { simulator: { webhooks: { settings: ONCE } }, webhooks });
    assert.equal((await deliver(simulator)).status, 200);
    const unknown = { faults: [{ kind: 'keyId' }] };
    const all = await Promise.all(Array.from({ length: 50 }, () => deliver(simulator, unknown)));
    assert.deepEqual([...new Set(all.map(({ status }) => status))], [503]);
    const { requests } = simulator.stats().paths[JWKS_PATH];
    assert.ok(requests <= FETCHES_IN_A_ROW, `${requests}`);
  });
});
