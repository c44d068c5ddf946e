// Each connection of a caller belongs to one event loop of the gateway, and each loop has its own connections to
// upstream. These tests use several connections, so that there are calls on every loop.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { code, connect } from '../clients/gateway.mjs';
import { QUERY, SUBMIT, start } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const CONNECTIONS = 8;
const CALLS_OF_EACH = 6;
const HELD = { kind: 'slow', untilReleased: true, times: 'always' };

/** Opens several connections, and starts calls of `sample` on each of them. */
function startCalls(t, gateway, sample) {
  const callers = Array.from({ length: CONNECTIONS }, () =>
    Object.assign(Object.create(gateway), { client: connect(gateway.address) }),
  );
  t.after(() => callers.forEach(({ client }) => client.close()));
  return callers.flatMap((caller) => Array.from({ length: CALLS_OF_EACH }, () => start(caller, sample)));
}

describe('calls on all loops', { timeout: HANG_MS }, () => {
  it('end alone when their callers cancel them', async (t) => {
    const { simulator, gateway } = await startStack(t);
    simulator.addFaults([HELD]);
    const calls = startCalls(t, gateway, QUERY);
    await simulator.waitFor({ held: calls.length });
    const [cancelled, kept] = [calls.filter((_, i) => i % 2), calls.filter((_, i) => i % 2 === 0)];
    for (const call of cancelled) call.cancel();
    for (const call of cancelled) assert.equal((await call.ended).code, code.CANCELLED);
    await simulator.waitFor({ held: kept.length });
    simulator.release();
    for (const call of kept) assert.ok(!((await call.ended) instanceof Error));
    assert.equal(simulator.stats().requests, calls.length, 'no request was repeated');
  });

  it('share the places of their lane', async (t) => {
    const { simulator, gateway } = await startStack(t, { upstream: { max_connections: 3 } });
    simulator.addFaults([HELD]);
    const calls = startCalls(t, gateway, SUBMIT);
    for (let left = calls.length; left > 0; left -= 3) {
      await simulator.waitFor({ held: 3 });
      assert.equal(simulator.release(), 3);
    }
    for (const call of calls) assert.ok(!((await call.ended) instanceof Error));
    assert.equal(simulator.stats().requests, calls.length);
  });

  it('end with a response when the gateway drains', async (t) => {
    const { simulator, gateway } = await startStack(t);
    simulator.addFaults([{ ...HELD, match: { path: SUBMIT.path } }]);
    const calls = startCalls(t, gateway, SUBMIT);
    await simulator.waitFor({ held: calls.length });
    gateway.child.kill('SIGTERM');
    // The gateway refuses new calls when the drain has begun.
    while ((await start(gateway, QUERY).ended).code !== code.UNAVAILABLE);
    simulator.release();
    for (const call of calls) assert.ok(!((await call.ended) instanceof Error));
    assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
  });
});
