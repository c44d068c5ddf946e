// Tests the pages of the admin port: probes and metrics.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';
import { ADMIN, ask, metricsOf, statusOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { deliver } from './event_stack.mjs';
import {
  Gateway,
  HANG_MS,
  auditConfig,
  freeCaller,
  plainConfig,
  scratch,
  startGateway,
  startStack,
} from './harness.mjs';
import { descriptorsOf, until } from './processes.mjs';
import { fill, reasonToSkip, smallDisk } from './small_disk.mjs';
import { EARLIEST, Subscriber } from './subscriber.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const SUBMIT = [
  'OrganizationService/UpdateOrganizationName',
  { organization_id: ORGANIZATION, parameters: { organization_name: 'n' } },
];
const HELD = { kind: 'slow', untilReleased: true };

const becomes = (url, path, status) =>
  until(async () => (await statusOf(url, path)) === status, `${path} is ${status}`);

/** The series that have grown, each with its growth. */
function growth(before, now) {
  const grown = {};
  for (const [id, value] of now) if (value !== (before.get(id) ?? 0)) grown[id] = value - (before.get(id) ?? 0);
  return grown;
}

const calls = (method, ending) => `stampgate_calls_total{code="${ending}",method="/stampgate.v1.${method}"}`;
const errors = (reason) => `stampgate_call_errors_total{reason="${reason}"}`;
const counters = (grown) => Object.fromEntries(Object.entries(grown).filter(([id]) => /_total\{/.test(id)));

describe('metrics', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const callers = freeCaller();
  callers[0].grants[0].all_organizations = undefined;
  callers[0].grants[0].organizations = [ORGANIZATION];
  const { simulator, gateway } = await startStack(
    { after },
    { config: { admin: ADMIN, audit, callers }, events: true },
  );
  simulator.webhooks.setEndpoints(null, []); // so that submits cause no events

  test('count calls by method and code, and errors by reason', async () => {
    const before = await metricsOf(gateway);
    for (let i = 0; i < 3; ++i) await gateway.call(...SUBMIT);
    await gateway.refusal(QUERY[0], { ...QUERY[1], policy_id: 'canary-5f1c9b7e' });
    for (const organization_id of [subOrganization(1), subOrganization(2)]) {
      const { info } = await gateway.refusal(QUERY[0], { ...QUERY[1], organization_id });
      assert.equal(info.reason, 'DENIED_BY_POLICY');
    }
    await gateway.refusal(QUERY[0], { organization_id: ORGANIZATION });
    await gateway.call('EventService/ListEvents', EARLIEST);
    await gateway.refusal('EventService/GetEvent', { event_id: 'canary-5f1c9b7e' });
    await gateway.refusal('StampService/Prepare', { method: 'canary-5f1c9b7e' });
    const now = await metricsOf(gateway);
    const grown = growth(before, now);
    assert.deepEqual(counters(grown), {
      [calls(SUBMIT[0], 'OK')]: 3,
      [calls(QUERY[0], 'NOT_FOUND')]: 1,
      [calls(QUERY[0], 'PERMISSION_DENIED')]: 2,
      [calls(QUERY[0], 'INVALID_ARGUMENT')]: 1,
      [calls('EventService/ListEvents', 'OK')]: 1,
      [calls('EventService/GetEvent', 'NOT_FOUND')]: 1,
      [calls('StampService/Prepare', 'INVALID_ARGUMENT')]: 1,
      [errors('UPSTREAM')]: 1,
      [errors('DENIED_BY_POLICY')]: 2,
      [errors('INVALID_REQUEST')]: 2,
      [errors('EVENT_NOT_FOUND')]: 1,
    });
    assert.equal(grown['stampgate_call_duration_seconds_count{class="query"}'], 4);
    assert.equal(grown['stampgate_call_duration_seconds_count{class="prepare"}'], 1);
    assert.equal(grown['stampgate_durable_write_seconds_count{write="decision"}'], 4);
    assert.equal(now.get('stampgate_calls_in_flight'), 0);
  });

  test('count deliveries, and show the event log and its subscribers', async () => {
    const before = await metricsOf(gateway);
    simulator.webhooks.setEndpoints(null, [gateway.webhookUrl]);
    simulator.webhooks.change({ maxAttempts: 1 });
    const { eventId, body } = await deliver(simulator);
    await deliver(simulator);
    await deliver(simulator, { eventId, body });
    await deliver(simulator, { faults: [{ kind: 'otherKey' }] });
    await deliver(simulator, { url: `${gateway.webhookUrl}/canary-5f1c9b7e` });
    const subscriber = await Subscriber.start(gateway);
    const grown = growth(before, await metricsOf(gateway));
    assert.deepEqual(counters(grown), {
      'stampgate_deliveries_total{outcome="stored"}': 2,
      'stampgate_deliveries_total{outcome="duplicate"}': 1,
      'stampgate_deliveries_total{outcome="invalid_signature"}': 1,
      'stampgate_deliveries_total{outcome="not_found"}': 1,
    });
    assert.equal(grown['stampgate_durable_write_seconds_count{write="event"}'], 3);
    assert.equal(grown.stampgate_event_log_latest_position, 2);
    assert.equal(grown.stampgate_subscribers, 1);
    assert.equal(grown.stampgate_calls_in_flight, 1);
    await subscriber.leave();
    simulator.webhooks.setEndpoints(null, []);
    await until(async () => (await metricsOf(gateway)).get('stampgate_subscribers') === 0, 'nobody is subscribed');
    // A subscriber that leaves causes no error.
    assert.deepEqual(counters(growth(before, await metricsOf(gateway))), {
      ...counters(grown),
      [calls('EventService/Subscribe', 'CANCELLED')]: 1,
    });
    // The gateway updates these gauges at intervals.
    const grows = async (name) => (await metricsOf(gateway)).get(name) > (before.get(name) ?? 0);
    await until(() => grows('stampgate_event_log_oldest_age_seconds'), 'the oldest event ages');
    const now = await metricsOf(gateway);
    assert.ok(now.get('stampgate_event_log_bytes') > 0);
    assert.equal(now.get('stampgate_subscriber_lag_events'), 0);
    for (const peer of ['unproven', 'proven']) {
      assert.ok(now.has(`stampgate_webhook_peers{peer="${peer}"}`));
      assert.equal(now.get(`stampgate_webhook_peers_displaced_total{peer="${peer}"}`), 0);
    }
    assert.equal(now.get('stampgate_webhook_peers_refused_total'), 0);
  });

  test('show the number of calls in flight', async () => {
    simulator.reset();
    simulator.addFaults([HELD]);
    const call = gateway.call(...SUBMIT);
    await simulator.waitFor({ held: 1 });
    const atUpstream = 'stampgate_upstream_exchanges_in_flight{lane="submit"}';
    const ended = 'stampgate_upstream_exchange_duration_seconds_count{lane="submit"}';
    const before = await metricsOf(gateway);
    assert.deepEqual([before.get('stampgate_calls_in_flight'), before.get(atUpstream)], [1, 1]);
    simulator.release();
    await call;
    const now = await metricsOf(gateway);
    assert.deepEqual([now.get('stampgate_calls_in_flight'), now.get(atUpstream)], [0, 0]);
    assert.equal(now.get(ended), before.get(ended) + 1);
  });

  test('show the number of allowed calls without an outcome, and the age of the oldest', async () => {
    simulator.reset();
    simulator.addFaults([HELD]);
    const open = async () => {
      const now = await metricsOf(gateway);
      return ['calls', 'reads'].map((kind) => now.get(`stampgate_audit_open_allows{kind="${kind}"}`));
    };
    const age = async () => (await metricsOf(gateway)).get('stampgate_audit_oldest_open_call_seconds');
    await until(async () => (await open()).join() === '0,0', 'all outcomes are written');
    assert.equal(await age(), 0);
    const call = gateway.call(...SUBMIT);
    await simulator.waitFor({ held: 1 });
    assert.deepEqual(await open(), [1, 0]);
    const younger = await age();
    assert.ok(younger > 0);
    assert.ok((await age()) > younger);
    const subscriber = await Subscriber.start(gateway);
    await until(async () => (await open()).join() === '1,1', 'the subscription is open');
    simulator.release();
    await call;
    await until(async () => (await open()).join() === '0,1', 'the outcome is written');
    assert.equal(await age(), 0);
    await subscriber.leave();
    await until(async () => (await open()).join() === '0,0', 'the subscription has its outcome');
  });

  test('show the head of the audit log, at least as new as the one in the log of the process', async () => {
    await gateway.call(...SUBMIT);
    // The gateway updates the head every ten seconds, the first time at the start, and logs it once a minute.
    const now = await metricsOf(gateway);
    const [head] = [...now.keys()].filter((id) => id.startsWith('stampgate_audit_head_info'));
    const [, sequence] = /^stampgate_audit_head_info\{head="([0-9]+):[0-9a-f]{64}"\}$/.exec(head);
    assert.equal(now.get('stampgate_audit_head_sequence'), Number(sequence));
    assert.ok(now.get('stampgate_audit_file_bytes') > 0);
    const [, logged] = [...gateway.output.matchAll(/"event":"audit_head","head":"([0-9]+):[0-9a-f]{64}"/g)].at(-1);
    assert.ok(Number(sequence) >= Number(logged));
    assert.equal(now.get('stampgate_audit_failing'), 0);
  });

  test('show the version of the policy, and count reloads', async () => {
    const before = await metricsOf(gateway);
    const good = readFileSync(gateway.configFile);
    writeFileSync(gateway.configFile, 'nonsense: true');
    gateway.child.kill('SIGHUP');
    const failed = 'stampgate_reloads_total{result="failed",what="config"}';
    await until(async () => (await metricsOf(gateway)).get(failed) >= 1, 'a reload has failed');
    const changed = { ...gateway.config, callers: [{ ...callers[0], name: 'another' }] };
    writeFileSync(gateway.configFile, JSON.stringify(changed));
    gateway.child.kill('SIGHUP');
    const ok = 'stampgate_reloads_total{result="ok",what="config"}';
    await until(async () => (await metricsOf(gateway)).get(ok) === 1, 'a reload has worked');
    const versionOf = (metrics) => [...metrics.keys()].filter((id) => id.startsWith('stampgate_policy_info{version="'));
    assert.equal(versionOf(before).length, 1);
    const now = await metricsOf(gateway);
    assert.equal(versionOf(now).length, 1);
    assert.notDeepEqual(versionOf(now), versionOf(before));
    writeFileSync(gateway.configFile, good);
  });

  test('contain no organization, no caller, no token and no text that a client has chosen', async () => {
    await gateway.refusal(...QUERY, { metadata: { authorization: 'Bearer canary-5f1c9b7e' } }).catch(() => {});
    const { text } = await metricsOf(gateway);
    for (const word of ['canary', ORGANIZATION, subOrganization(1), 'loopback', 'another', identifier(6), 'hooks']) {
      assert.ok(!text.includes(word), word);
    }
  });

  test('are served to HEAD and with a query string; other paths get 404', async () => {
    const head = await new Promise((resolve, reject) => {
      request(`${gateway.adminUrl}/metrics`, { method: 'HEAD', agent: false }, resolve).on('error', reject).end();
    });
    assert.equal(head.statusCode, 200);
    assert.ok(Number(head.headers['content-length']) > 1000);
    assert.equal(await statusOf(gateway.adminUrl, '/'), 404);
    assert.equal(await statusOf(gateway.adminUrl, '/metrics?x'), 200);
  });
});

test('calls of strangers are counted', async (t) => {
  const callers = [{ name: 'a', dns_names: ['a.example'], grants: [{ classes: ['query'], all_organizations: true }] }];
  const { gateway } = await startStack(t, { config: { admin: ADMIN, callers } });
  for (let i = 0; i < 3; ++i) assert.equal((await gateway.refusal(...QUERY)).code, code.UNAUTHENTICATED);
  const now = await metricsOf(gateway);
  assert.equal(now.get(errors('CALLER_NOT_RECOGNIZED')), 3);
  assert.equal(now.get(calls(QUERY[0], 'UNAUTHENTICATED')), 3);
});

describe('probes', { timeout: HANG_MS }, () => {
  test('respond 200 while the gateway serves calls', async (t) => {
    const { gateway } = await startStack(t, { config: { admin: ADMIN } });
    assert.deepEqual(await ask(gateway.adminUrl, '/livez').then(({ status, body }) => [status, body]), [
      200,
      'alive\n',
    ]);
    assert.deepEqual(await ask(gateway.adminUrl, '/readyz').then(({ status, body }) => [status, body]), [
      200,
      'ready\n',
    ]);
  });

  test('are not served if the config has no admin port', async (t) => {
    const { gateway } = await startStack(t);
    assert.equal(gateway.adminUrl, undefined);
  });

  test('respond 200 if the gRPC port uses TLS, and metrics show when the certificate expires', async (t) => {
    const folder = scratch(t);
    const authority = makeAuthority(folder, 'all');
    const { cert, key } = authority.issue({ name: 'DNS:gateway.example', days: 2 });
    const tls = Object.fromEntries(
      Object.entries({
        certificate_file: cert,
        private_key_file: key,
        client_ca_file: readFileSync(authority.file),
      }).map(([name, content]) => {
        writeFileSync(join(folder, name), content, { mode: 0o600 });
        return [name, join(folder, name)];
      }),
    );
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const audit = await auditConfig(folder);
    const config = { listen_address: '0.0.0.0:0', admin: ADMIN, tls, audit };
    const gateway = await startGateway(t, simulator, config, { folder });
    assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);
    assert.equal(await statusOf(gateway.adminUrl, '/readyz'), 200);
    const now = await metricsOf(gateway);
    assert.equal(now.get('stampgate_webhook_tls_certificate_not_after_timestamp_seconds'), undefined);
    assert.ok(![...now.keys()].some((id) => id.startsWith('stampgate_deliveries_total')), 'nobody delivers');
    const expires = now.get('stampgate_tls_certificate_not_after_timestamp_seconds');
    const days = (expires - Date.now() / 1000) / 86400;
    assert.ok(days > 1.9 && days <= 2, days);
  });

  test('report not ready and alive while the gateway drains', async (t) => {
    const { simulator, gateway } = await startStack(t, { config: { admin: ADMIN } });
    simulator.addFaults([HELD]);
    const call = gateway.call(...SUBMIT);
    await simulator.waitFor({ held: 1 });
    gateway.child.kill('SIGTERM');
    await becomes(gateway.adminUrl, '/readyz', 503);
    assert.equal((await ask(gateway.adminUrl, '/readyz')).body, 'the gateway is draining\n');
    assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);
    assert.equal((await metricsOf(gateway)).get('stampgate_calls_in_flight'), 1);
    simulator.release();
    await call;
    await gateway.exited;
    assert.equal(await ask(gateway.adminUrl, '/readyz'), null);
  });

  test(
    'report that the audit log cannot be written, until it can be written again',
    { skip: reasonToSkip() },
    async (t) => {
      const folder = scratch(t);
      const { inside, command, seenFrom } = smallDisk(folder, 2);
      const audit = await auditConfig(folder, join(inside, 'audit.log'));
      const { gateway } = await startStack(t, { config: { admin: ADMIN, audit }, command });
      const ballast = join(seenFrom(gateway), 'ballast');
      fill(ballast, 0);
      // The gateway can still write records that fit into the last page of the file. After a refusal it also tries once a
      // second to write a smaller record, and while that one fits, the gateway is ready again. So the test calls until the
      // gateway has not been ready for several tries.
      let readyAt = Date.now();
      const refusesForLong = async () => {
        const refused = await gateway.call(...SUBMIT).then(
          () => false,
          () => true,
        );
        if (!refused || (await statusOf(gateway.adminUrl, '/readyz')) === 200) readyAt = Date.now();
        return Date.now() - readyAt > 3000;
      };
      await until(refusesForLong, 'the gateway refuses all calls');
      const { status, body } = await ask(gateway.adminUrl, '/readyz');
      assert.deepEqual([status, body], [503, 'the audit log cannot be written\n']);
      assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);
      const now = await metricsOf(gateway);
      assert.equal(now.get('stampgate_audit_failing'), 1);
      assert.ok(now.get(errors('AUDIT_UNAVAILABLE')) >= 1);
      rmSync(ballast);
      // The gateway recovers without a call, because nobody calls a gateway that is not ready.
      await becomes(gateway.adminUrl, '/readyz', 200);
      assert.equal((await metricsOf(gateway)).get('stampgate_audit_failing'), 0);
    },
  );

  test('report that the audit log has failed permanently', async (t) => {
    const folder = scratch(t);
    const audit = await auditConfig(folder);
    const { gateway } = await startStack(t, { config: { admin: ADMIN, audit } });
    await gateway.call(...SUBMIT);
    writeFileSync(audit.file, '');
    await gateway.refusal(...SUBMIT);
    await becomes(gateway.adminUrl, '/readyz', 503);
    assert.equal((await ask(gateway.adminUrl, '/readyz')).body, 'the audit log cannot be written\n');
  });

  test('the gRPC port accepts connections again after file descriptors ran out', async (t) => {
    const folder = scratch(t);
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const gateway = await Gateway.start({ ...plainConfig(simulator, folder), admin: ADMIN }, { folder });
    t.after(() => gateway.stop('SIGKILL'));
    assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);
    const limit = (soft) => execFileSync('prlimit', ['--pid', String(gateway.child.pid), `--nofile=${soft}:`]);
    const { 1: port } = gateway.address.split(':');
    const peers = [];
    t.after(() => peers.forEach((peer) => peer.destroy()));
    limit(descriptorsOf(gateway.child.pid) + 4);
    // Opens more connections to the gRPC port than the process has file descriptors.
    for (let i = 0; i < 16; ++i) {
      peers.push(
        connectTcp(Number(port), '127.0.0.1')
          .on('error', () => {})
          .resume(),
      );
      await new Promise((resolve) => peers.at(-1).once('connect', resolve));
    }
    // The clients that the process has no descriptor for are disconnected.
    await until(() => peers.some((peer) => peer.destroyed), 'a client is disconnected');
    limit(1024);
    for (const peer of peers) peer.destroy();
    await gateway.call(...QUERY);
    assert.equal(await statusOf(gateway.adminUrl, '/livez'), 200);
  });
});
