// What callers share is divided among them: a caller alone may use all, and beside others it does not take their share.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { call, connect } from '../clients/gateway.mjs';
import { binary } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { HANG_MS, auditConfig, scratch, startGateway, startStack } from './harness.mjs';
import { ENHANCE_YOUR_CALM, Http2Attacker } from './http2_attacker.mjs';
import { logLines } from './log_lines.mjs';
import { asCaller, callerOf, reconfigure } from './policy_callers.mjs';
import { descriptorsOf, until } from './processes.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const UPDATE = 'OrganizationService/UpdateOrganizationName';
const update = (organization_name, more) => [UPDATE, { organization_id: ORGANIZATION, parameters: { organization_name }, ...more }];
const grants = [{ classes: ['query'], methods: [UPDATE], all_organizations: true }];
const CALLERS = [callerOf('greedy', grants), callerOf('honest', grants)];

describe('connections to upstream', () => {
  test('a query waits for one connection, however many queries another caller has in flight', { timeout: HANG_MS }, async (t) => {
    const config = { callers: CALLERS, calls: { max_deadline: '60s', default_deadline: '60s' } };
    const { simulator, gateway } = await startStack(t, { config, upstream: { max_connections: 4 } });
    simulator.addFaults([{ kind: 'slow', ms: 200, times: 'always' }]);
    let answered = 0;
    const flood = Array.from({ length: 200 }, () =>
      asCaller(gateway, 'greedy').call(...QUERY).then(() => (answered += 1)),
    );
    await until(() => answered >= 4, 'the first answers');
    const before = answered;
    await asCaller(gateway, 'honest').call(...QUERY);
    // Four calls have connections when the query arrives, and a few end while its own answer is on its way.
    assert.ok(answered - before <= 20, `${answered - before} of the other caller's calls went before`);
    await Promise.all(flood);
  });

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

test('a caller within its share waits for its activity although another one uses all places', { timeout: HANG_MS }, async (t) => {
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
});

describe('connections to the gateway', () => {
  const LIMIT = 300;
  const GREEDY = ['greedy-1', 'greedy-2', 'greedy-3'];
  const identity = (name) => `spiffe://example.org/${name}`;
  const callerWith = (name) => ({ name, spiffe_ids: [identity(name)], grants });

  /** A gateway with TLS, callers with identities of their own, and at most LIMIT file descriptors. */
  async function start(t, config) {
    const folder = scratch(t);
    const servers = makeAuthority(folder, 'servers');
    const clients = makeAuthority(folder, 'clients');
    const { cert, key } = servers.issue({ name: 'DNS:gateway.example', usage: 'serverAuth' });
    const tls = {
      certificate_file: join(folder, 'tls.crt'),
      private_key_file: join(folder, 'tls.key'),
      client_ca_file: clients.file,
    };
    writeFileSync(tls.certificate_file, cert);
    writeFileSync(tls.private_key_file, key, { mode: 0o600 });
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const command = join(folder, 'limited');
    writeFileSync(command, `#!/bin/sh\nulimit -n ${LIMIT} && exec '${binary('gateway/stampgate')}' "$@"\n`, { mode: 0o755 });
    const callers = [...GREEDY, 'honest'].map(callerWith);
    const audit = await auditConfig(folder);
    const whole = { tls, callers, audit, admin: ADMIN, reload_interval: '100ms', ...config };
    const gateway = await startGateway(t, simulator, whole, { folder, command });
    const tlsOf = (name) => ({
      ca: readFileSync(servers.file),
      ...clients.issue({ name: `URI:${identity(name)}`, usage: 'clientAuth' }),
    });
    /** One call over a new connection. */
    const callAs = async (certificate) => {
      const client = connect(gateway.address, { tls: certificate, 'grpc.ssl_target_name_override': 'gateway.example' });
      try {
        return await call(client, ...QUERY);
      } finally {
        client.close();
      }
    };
    return { gateway, tlsOf, callAs };
  }

  test('three callers that take all descriptors lock nobody out, and a reload removes one of them', { timeout: HANG_MS }, async (t) => {
    const { gateway, tlsOf, callAs } = await start(t);
    const [{ message }] = await logLines(gateway, 1, 'descriptor_limit');
    const [, admitted] = /the gateway admits at most (\d+) connections of callers/.exec(message);
    const honest = tlsOf('honest');
    const attackers = [];
    t.after(() => attackers.forEach(({ socket }) => socket.destroy()));
    const connections = async () => (await metricsOf(gateway)).get('stampgate_connections');
    for (const name of GREEDY) {
      const certificate = tlsOf(name);
      for (let index = 0; index < LIMIT / 2; ++index) attackers.push(await Http2Attacker.open(gateway.address, certificate));
    }
    const open = () => attackers.filter(({ closed, goAways }) => !closed && goAways.length === 0).length;
    await until(async () => open() === Number(admitted), 'all places are used');
    assert.ok(attackers.some(({ goAways }) => goAways.some(({ code }) => code === ENHANCE_YOUR_CALM)));
    assert.ok(descriptorsOf(gateway.child.pid) < LIMIT - 50);
    for (let round = 0; round < 10; ++round) await callAs(honest);

    await reconfigure(gateway, { callers: ['greedy-2', 'greedy-3', 'honest'].map(callerWith) });
    await until(async () => (await connections()) <= Number(admitted) - 15, 'the connections of that caller have ended');
    await callAs(honest);
  });
});
