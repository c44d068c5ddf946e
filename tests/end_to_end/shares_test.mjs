// What callers share is divided among them: a caller alone may use all, and beside others it does not take their share.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { call, code } from '../clients/gateway.mjs';
import { binary } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { callersOf, channel, makeTls } from './attacks/parties.mjs';
import { described } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startGateway, startStack } from './harness.mjs';
import { ENHANCE_YOUR_CALM, Http2Attacker } from './http2_attacker.mjs';
import { logLines } from './log_lines.mjs';
import { asCaller, callerOf, reconfigure } from './policy_callers.mjs';
import { descriptorsOf, until } from './processes.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const UPDATE = 'OrganizationService/UpdateOrganizationName';
const update = (organization_name, more) => [
  UPDATE,
  { organization_id: ORGANIZATION, parameters: { organization_name }, ...more },
];
const grants = [{ classes: ['query'], methods: [UPDATE], all_organizations: true }];
const CALLERS = [callerOf('greedy', grants), callerOf('honest', grants)];

describe('connections to upstream', () => {
  test(
    'a query waits for one connection, however many queries another caller has in flight',
    { timeout: HANG_MS },
    async (t) => {
      const config = { callers: CALLERS, calls: { max_deadline: '60s', default_deadline: '60s' } };
      const { simulator, gateway } = await startStack(t, { config, upstream: { max_connections: 4 } });
      simulator.addFaults([{ kind: 'slow', ms: 200, times: 'always' }]);
      let answered = 0;
      const flood = Array.from({ length: 200 }, () =>
        asCaller(gateway, 'greedy')
          .call(...QUERY)
          .then(() => (answered += 1)),
      );
      await until(() => answered >= 4, 'the first answers');
      const before = answered;
      await asCaller(gateway, 'honest').call(...QUERY);
      // Four calls have connections when the query arrives, and a few end while its own answer is on its way.
      assert.ok(answered - before <= 20, `${answered - before} of the other caller's calls went before`);
      await Promise.all(flood);
    },
  );

  test('submits that one caller has left do not stop the submits of another', { timeout: HANG_MS }, async (t) => {
    const config = { callers: CALLERS, admin: ADMIN };
    const { simulator, gateway } = await startStack(t, { config, upstream: { max_detached: 2 } });
    simulator.addFaults([{ kind: 'slow', untilReleased: true, times: 2 }]);
    const leave = (name) => asCaller(gateway, 'greedy').refusal(...update(name), { deadlineMs: 1000 });
    await Promise.all(['a', 'b'].map(leave));
    const detached = async () => (await metricsOf(gateway)).get('stampgate_detached_exchanges');
    await until(async () => (await detached()) === 2, 'all places for such submits are used');
    await leave('c');
    assert.equal(simulator.stats().requests, 2, 'the caller alone may use all, and no more');
    await asCaller(gateway, 'honest').call(...update('d'));
    simulator.release();
  });
});

test(
  'a caller within its share waits for its activity although another one uses all places',
  { timeout: HANG_MS },
  async (t) => {
    const activities = { max_waiting: 10, poll_interval: '10m', max_poll_interval: '10m' };
    const config = { callers: CALLERS, admin: ADMIN, activities };
    const { simulator, gateway } = await startStack(t, { config, events: true });
    simulator.addFaults([{ kind: 'pending', times: 'always', match: { path: 'update_organization_name' } }]);
    const wait = (caller, name) =>
      asCaller(gateway, caller).call(...update(name, { wait_until: 'WAIT_UNTIL_FINAL' }), { deadlineMs: HANG_MS });
    const waits = (count) =>
      until(async () => (await metricsOf(gateway)).get('stampgate_waiting_calls') === count, `${count} waiting calls`);
    const returned = [];
    const greedy = [];
    for (let index = 0; index < 10; ++index) {
      greedy.push(wait('greedy', `greedy ${index}`).then(({ activity }) => (returned.push(index), activity)));
      await waits(index + 1);
    }
    const honest = [];
    for (let index = 0; index < 5; ++index) {
      honest.push(wait('honest', `honest ${index}`));
      // The newest call of the other caller returns its activity as upstream has reported it last.
      await until(() => returned.length === index + 1, 'another call has given up its place');
      assert.equal(returned.at(-1), 9 - index);
    }
    assert.equal((await wait('honest', 'beyond its share')).activity.status, 'ACTIVITY_STATUS_PENDING');
    await waits(10);
    for (const id of simulator.service.open.ids()) simulator.endActivity(id);
    for (const { activity } of await Promise.all(honest)) assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
    const ends = (await Promise.all(greedy)).map(({ status }) => status);
    assert.deepEqual(ends.slice(0, 5), Array(5).fill('ACTIVITY_STATUS_COMPLETED'));
    assert.deepEqual(ends.slice(5), Array(5).fill('ACTIVITY_STATUS_PENDING'));
  },
);

describe('over TLS,', () => {
  const LIMIT = 300;
  const GREEDY = ['greedy-1', 'greedy-2', 'greedy-3'];
  const NAMES = [...GREEDY, 'honest'];
  const RIGHTS = { classes: ['query'], methods: [UPDATE] };

  /** A gateway with TLS, callers with identities of their own, and at most LIMIT file descriptors. */
  async function start(t, config) {
    const folder = scratch(t);
    const { section: tls, tlsOf } = makeTls(folder, NAMES);
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const command = join(folder, 'limited');
    writeFileSync(command, `#!/bin/sh\nulimit -n ${LIMIT} && exec '${binary('gateway/stampgate')}' "$@"\n`, {
      mode: 0o755,
    });
    const audit = await auditConfig(folder);
    const callers = callersOf(NAMES, RIGHTS);
    const whole = { tls, callers, audit, admin: ADMIN, reload_interval: '100ms', ...config };
    const gateway = await startGateway(t, simulator, whole, { folder, command });
    /** One call over a new connection. */
    const callAs = async (name, method = QUERY, options) => {
      const client = channel(gateway.address, tlsOf[name]);
      try {
        return await call(client, ...method, options);
      } finally {
        client.close();
      }
    };
    return { simulator, gateway, tlsOf, callAs };
  }

  test('a caller gets memory although another one uses all of it', { timeout: HANG_MS }, async (t) => {
    const { simulator, callAs } = await start(t, { memory: { max_bytes: 128 << 20 }, calls: { max_deadline: '60s' } });
    simulator.addFaults([{ kind: 'slow', untilReleased: true, times: 40 }]);
    const large = update('x'.repeat((1 << 20) - 200));
    /** Begins a call that upstream holds. Resolves to its `end`, or to the `error` of a call that is refused. */
    const hold = async (name) => {
      const { held } = simulator.stats();
      const end = callAs(name, large, { deadlineMs: HANG_MS }).then(
        () => undefined,
        (error) => error,
      );
      const error = await Promise.race([end, simulator.waitFor({ held: held + 1 }).then(() => undefined)]);
      return { end, error };
    };
    const calls = [];
    for (let last = {}; last.error === undefined; calls.push(last)) last = await hold('greedy-1');
    const refused = described(calls.pop().error);
    assert.equal(refused.reason, 'TOO_MUCH_MEMORY');
    assert.match(refused.message, /the limit is the part of memory\.max_bytes for callers, 117440512 bytes$/);
    // Calls may hold seven eighths of the 112 MiB; each of these holds about 6 MiB.
    assert.ok(calls.length >= 14 && calls.length <= 17, `${calls.length} calls`);
    const honest = [await hold('honest'), await hold('honest')];
    simulator.clearFaults();
    simulator.release();
    for (const { end } of honest) assert.equal(await end, undefined);
    // The other caller has made room: it has lost connections, each with a call.
    const lost = (await Promise.all(calls.map(({ end }) => end))).filter((error) => error !== undefined);
    assert.ok(lost.length >= 1 && lost.length <= 2, `${lost.length} calls`);
    for (const error of lost) assert.equal(error.code, code.RESOURCE_EXHAUSTED);
    await callAs('greedy-1', large);
  });

  test(
    'three callers that take all descriptors lock nobody out, and a reload removes one of them',
    { timeout: HANG_MS },
    async (t) => {
      const { gateway, tlsOf, callAs } = await start(t);
      const [{ message }] = await logLines(gateway, 1, 'descriptor_limit');
      const [, admitted] = /the gateway admits at most (\d+) connections of callers/.exec(message);
      const attackers = [];
      t.after(() => attackers.forEach(({ socket }) => socket.destroy()));
      const connections = async () => (await metricsOf(gateway)).get('stampgate_connections');
      for (const name of GREEDY) {
        for (let index = 0; index < LIMIT / 2; ++index)
          attackers.push(await Http2Attacker.open(gateway.address, tlsOf[name]));
      }
      const open = () => attackers.filter(({ closed, goAways }) => !closed && goAways.length === 0).length;
      await until(async () => open() === Number(admitted), 'all places are used');
      assert.ok(attackers.some(({ goAways }) => goAways.some(({ code }) => code === ENHANCE_YOUR_CALM)));
      assert.ok(descriptorsOf(gateway.child.pid) < LIMIT - 50);
      for (let round = 0; round < 10; ++round) await callAs('honest');

      await reconfigure(gateway, { callers: callersOf(NAMES.slice(1), RIGHTS) });
      await until(
        async () => (await connections()) <= Number(admitted) - 15,
        'the connections of that caller have ended',
      );
      await callAs('honest');
    },
  );
});
