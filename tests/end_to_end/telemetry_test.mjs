// Tests the export of traces and metrics to a collector: which spans a call and a webhook delivery have, that the metrics are those of the page
// /metrics, and that no call and no end of the process waits for a collector.
import assert from 'node:assert/strict';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { seriesOf, startCollector } from '../telemetry/collector.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { makeAuthority } from './certificates.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { QUERY, SUBMIT } from './failures.mjs';
import { HANG_MS, WEBHOOK_PATH, auditConfig, run, scratch, startStack } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';

const VERSION = (await run(['--version'])).stdout.trim().replace('stampgate ', '');
const SERVER = 2;
const CLIENT = 3;
const INTERNAL = 1;
const PARENT = 'b7ad6b7169203331';

/** Short intervals, so that no test waits. */
const telemetryOf = (url, more) => ({ endpoint: url, span_interval: '100ms', metric_interval: '100ms', ...more });

let traces = 0;
/** A new trace id. */
const newTrace = () => (traces += 1).toString(16).padStart(32, 'a');
const traceparent = (traceId, flags = '01') => ({ metadata: { traceparent: `00-${traceId}-${PARENT}-${flags}` } });

const headersOf = ({ headers }, name) =>
  headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);

/** The spans of a trace by name; steps that a call has twice are in a list. */
function byName(spans) {
  const named = {};
  for (const span of spans) named[span.name] = named[span.name] ? [named[span.name], span].flat() : span;
  return named;
}

const metric = async (gateway, series) => (await metricsOf(gateway)).get(series);

describe('the spans of a call', { timeout: HANG_MS, concurrency: false }, async () => {
  const collector = await startCollector({ after });
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { gateway, simulator } = await startStack(
    { after },
    {
      config: {
        audit,
        store: { sqlite: { folder } },
        telemetry: telemetryOf(collector.url, { metrics: false, service_instance_id: 'gateway-0' }),
      },
      upstream: { forward_traceparent: true },
    },
  );
  beforeEach(() => {
    simulator.reset();
    simulator.clearRequests();
  });

  it('are a server span and a child for each step', async () => {
    const trace = newTrace();
    await gateway.call(SUBMIT.method, { ...SUBMIT.request, idempotency_key: 'one' }, traceparent(trace));
    const spans = await collector.trace(trace);
    const server = spans.find(({ kind }) => kind === SERVER);
    assert.equal(server.parent, PARENT);
    assert.equal(server.name, `stampgate.v1.${SUBMIT.method}`);
    assert.equal(server.flags, 0x301);
    const [service, method] = server.name.split('/');
    assert.deepEqual(server.attributes, {
      'rpc.system': 'grpc',
      'rpc.service': service,
      'rpc.method': method,
      'rpc.grpc.status_code': 0,
      'stampgate.caller': 'loopback',
    });
    assert.deepEqual(server.resource, {
      'service.name': 'stampgate',
      'service.instance.id': 'gateway-0',
      'service.version': VERSION,
    });
    const steps = spans.filter((span) => span !== server);
    assert.deepEqual(
      steps.map(({ name }) => name),
      [
        'authenticate',
        'translate',
        'decide',
        'translate',
        'store',
        'audit',
        'sign',
        'queue',
        `POST ${SUBMIT.path}`,
        'map',
      ],
    );
    for (const [i, step] of steps.entries()) {
      assert.equal(step.parent, server.id);
      assert.equal(step.kind, step.name.startsWith('POST ') ? CLIENT : INTERNAL);
      assert.ok(step.start >= server.start && step.start <= step.end && step.end <= server.end + 1_000_000n);
      if (i > 0) assert.equal(step.start, steps[i - 1].end);
      assert.equal(step.failed, false);
    }
    assert.equal(new Set(spans.map(({ id }) => id)).size, spans.length);
  });

  it('contain the exchange with upstream, whose id is in the traceparent that upstream receives', async () => {
    const trace = newTrace();
    await gateway.call(QUERY.method, QUERY.request, traceparent(trace));
    const client = (await collector.trace(trace)).find(({ kind }) => kind === CLIENT);
    const [sent] = headersOf(simulator.requests()[0], 'traceparent');
    assert.equal(sent, `00-${trace}-${client.id}-01`);
    const { hostname, port } = new URL(simulator.url);
    assert.deepEqual(client.attributes, {
      'http.request.method': 'POST',
      'url.template': QUERY.path,
      'url.path': QUERY.path,
      'server.address': hostname,
      'server.port': Number(port),
      'http.response.status_code': 200,
    });
  });

  it('of a general operation have no text of the caller', async () => {
    const trace = newTrace();
    const request = { organization_id: ORGANIZATION, path: 'not_yet_known', parameters: '{}' };
    simulator.addFaults([{ kind: 'status', status: 200, body: '{}' }]);
    await gateway.call('GeneralService/QueryOperation', request, traceparent(trace));
    const client = (await collector.trace(trace)).find(({ kind }) => kind === CLIENT);
    assert.equal(client.name, 'POST /public/v1/query/{operation}');
    assert.equal(client.attributes['url.path'], undefined);
  });

  it('of a discovery contain a GET', async () => {
    const trace = newTrace();
    await gateway.call('WebhookService/GetWebhookKeySet', {}, traceparent(trace));
    const client = (await collector.trace(trace)).find(({ kind }) => kind === CLIENT);
    assert.equal(client.attributes['http.request.method'], 'GET');
  });

  it('state the failure of an upstream that responds with an error', async () => {
    const trace = newTrace();
    const request = { organization_id: ORGANIZATION, policy_id: identifier(999) };
    const error = await gateway.refusal(QUERY.method, request, traceparent(trace));
    const spans = await collector.trace(trace);
    const server = spans.find(({ kind }) => kind === SERVER);
    const client = spans.find(({ kind }) => kind === CLIENT);
    assert.equal(server.attributes['rpc.grpc.status_code'], error.code);
    assert.equal(server.attributes['stampgate.error_reason'], 'UPSTREAM');
    const status = client.attributes['http.response.status_code'];
    assert.ok(status >= 400);
    assert.equal(client.attributes['error.type'], String(status));
    assert.equal(client.failed, true);
  });

  it('state the failure of an invalid request, whose server span has not failed', async () => {
    const trace = newTrace();
    await gateway.refusal(QUERY.method, { organization_id: ORGANIZATION }, traceparent(trace));
    const { authenticate, translate, ...rest } = byName(await collector.trace(trace));
    const [server] = Object.values(rest).filter(({ kind }) => kind === SERVER);
    assert.ok(authenticate && translate);
    assert.equal(server.attributes['rpc.grpc.status_code'], code.INVALID_ARGUMENT);
    assert.equal(server.attributes['error.type'], 'INVALID_ARGUMENT');
    assert.equal(server.attributes['stampgate.error_reason'], 'INVALID_REQUEST');
    assert.equal(server.failed, false);
    assert.equal(simulator.requests().length, 0);
  });

  it('are not made if the caller does not want its trace to be sampled', async () => {
    const [without, wanted] = [newTrace(), newTrace()];
    await gateway.call(QUERY.method, QUERY.request, traceparent(without, '00'));
    await gateway.call(QUERY.method, QUERY.request, traceparent(wanted));
    await collector.trace(wanted);
    assert.ok(!collector.spans().some(({ traceId }) => traceId === without));
    assert.match(headersOf(simulator.requests()[0], 'traceparent')[0], /-00$/);
  });

  it('contain no secret, no body, no stamp and no id of an organization or an activity', async () => {
    const trace = newTrace();
    const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request, traceparent(trace));
    await collector.trace(trace);
    const [sent] = simulator.requests();
    const stamp = headersOf(sent, 'x-stamp')[0];
    assert.ok(stamp.length > 20);
    const canaries = [ORGANIZATION, activity?.id, SUBMIT.request.parameters.organization_name, stamp].filter(Boolean);
    assert.ok(canaries.length >= 3);
    for (const { bytes } of collector.exports) {
      for (const canary of canaries) assert.ok(!bytes.includes(canary), `${canary} is in an export`);
    }
  });
});

describe('the sampling ratio', { timeout: HANG_MS }, () => {
  for (const [ratio, count] of [
    [1, 3],
    [0, 0],
  ]) {
    it(`${ratio} traces ${count} of 3 calls without a trace`, async (t) => {
      const collector = await startCollector(t);
      const telemetry = telemetryOf(collector.url, { sampling_ratio: ratio, metrics: false });
      const { gateway } = await startStack(t, { config: { telemetry } });
      for (let i = 0; i < 3; ++i) await gateway.call(QUERY.method, QUERY.request);
      const trace = newTrace();
      await gateway.call(QUERY.method, QUERY.request, traceparent(trace));
      await collector.trace(trace);
      const servers = collector.spans().filter(({ kind, traceId }) => kind === SERVER && traceId !== trace);
      assert.equal(servers.length, count);
      for (const { parent, traceId } of servers) {
        assert.equal(parent, '');
        assert.match(traceId, /^[0-9a-f]{32}$/);
      }
    });
  }
});

describe('a denied call', { timeout: HANG_MS }, () => {
  it('has a server span with the reason', async (t) => {
    const collector = await startCollector(t);
    const config = { callers: [callerOf('support', [])], telemetry: telemetryOf(collector.url, { metrics: false }) };
    const { gateway } = await startStack(t, { config });
    const trace = newTrace();
    const denied = await asCaller(gateway, 'support').refusal(QUERY.method, QUERY.request, traceparent(trace));
    assert.equal(denied.code, code.PERMISSION_DENIED);
    const server = (await collector.trace(trace)).find(({ kind }) => kind === SERVER);
    assert.equal(server.attributes['stampgate.error_reason'], 'DENIED_BY_POLICY');
    assert.equal(server.attributes['stampgate.caller'], 'support');
  });
});

describe('a webhook delivery', { timeout: HANG_MS }, () => {
  it('has a server span with its outcome and a child for each step, and a refused request has none', async (t) => {
    const collector = await startCollector(t);
    const telemetry = telemetryOf(collector.url, { sampling_ratio: 1, metrics: false });
    const { gateway, simulator } = await startEventStack(t, { config: { telemetry } });
    simulator.webhooks.change({ maxAttempts: 1 });
    const { eventId, status } = await deliver(simulator, { body: Buffer.from('{"a":"canary-of-the-body"}') });
    assert.equal(status, 200);
    const refused = await deliver(simulator, { url: new URL('/canary-of-a-path', gateway.webhookUrl).href });
    assert.equal(refused.status, 404);
    assert.equal((await deliver(simulator, { faults: [{ kind: 'flippedBody' }] })).status, 401);
    assert.equal((await deliver(simulator, { faults: [{ kind: 'keyId' }] })).status, 503);
    await gateway.stop();

    const spans = collector.spans();
    const stated = (outcome, code) => ({
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'http.response.status_code': code,
      'stampgate.delivery.outcome': outcome,
    });
    const expected = [
      [stated('stored', 200), ['verify', 'store']],
      [stated('invalid_signature', 401), ['verify']],
      [{ ...stated('missing_key', 503), 'error.type': '503' }, ['verify']],
    ];
    const servers = spans.filter(({ kind }) => kind === SERVER);
    assert.deepEqual(
      servers.map(({ attributes }) => attributes),
      expected.map(([attributes]) => attributes),
    );
    for (const [i, server] of servers.entries()) {
      assert.equal(server.name, 'POST');
      assert.equal(server.parent, '');
      assert.equal(server.failed, server.attributes['http.response.status_code'] >= 500);
      const steps = spans.filter(({ parent }) => parent === server.id);
      assert.deepEqual(
        steps.map(({ name }) => name),
        expected[i][1],
      );
      for (const { kind, traceId, attributes } of steps) {
        assert.equal(kind, INTERNAL);
        assert.equal(traceId, server.traceId);
        assert.deepEqual(attributes, {});
      }
      assert.equal(steps[0].start, server.start);
      assert.equal(steps.at(-1).end, server.end);
    }
    const canaries = ['canary', WEBHOOK_PATH, eventId, ORGANIZATION];
    for (const { bytes } of collector.exports) {
      for (const canary of canaries) assert.ok(!bytes.includes(canary), `${canary} is in an export`);
    }
  });
});

describe('the exported metrics', { timeout: HANG_MS }, async () => {
  const collector = await startCollector({ after });
  const { gateway } = await startStack(
    { after },
    { config: { admin: ADMIN, telemetry: telemetryOf(collector.url, { traces: false }) } },
  );

  it('are those of the page /metrics', async () => {
    await gateway.call(QUERY.method, QUERY.request);
    await gateway.refusal(QUERY.method, { organization_id: ORGANIZATION });
    const counted = (code) => `stampgate_calls_total{code="${code}",method="/stampgate.v1.${QUERY.method}"}`;
    await collector.until(() => {
      const series = seriesOf(collector.metrics() ?? []);
      return ['OK', 'INVALID_ARGUMENT'].every((code) => series.get(counted(code)) === 1);
    });
    const page = await metricsOf(gateway);
    const exported = seriesOf(collector.metrics());
    // These change all the time.
    const changes = /^(process_|stampgate_telemetry_|stampgate_connections|stampgate_connection_held)/;
    // The page writes 16 digits of a number, and the export has all bits.
    const rounded = ([name, value]) => [name, Number(value.toPrecision(16))];
    const lasting = (series) =>
      [...series]
        .filter(([name]) => !changes.test(name))
        .map(rounded)
        .sort();
    assert.deepEqual(lasting(exported), lasting(page));
    assert.deepEqual([...exported.keys()].sort(), [...page.keys()].sort());
  });

  it('have the types, units and times of their kind', () => {
    const named = Object.fromEntries(collector.metrics().map((each) => [each.name, each]));
    const { sum } = named.stampgate_calls_total;
    assert.equal(sum.isMonotonic, true);
    assert.equal(sum.aggregationTemporality, 2);
    const now = BigInt(Date.now()) * 1_000_000n;
    const { startTimeUnixNano: start, timeUnixNano: time } = sum.dataPoints[0];
    assert.ok(BigInt(start.toString()) < BigInt(time.toString()) && BigInt(time.toString()) <= now + 1_000_000n);
    assert.ok(named.stampgate_calls_in_flight.gauge);
    assert.equal(named.stampgate_call_duration_seconds.unit, 's');
    assert.equal(named.process_resident_memory_bytes.unit, 'By');
    const { histogram } = named.stampgate_upstream_exchange_duration_seconds;
    assert.equal(histogram.aggregationTemporality, 2);
    assert.equal(histogram.dataPoints[0].bucketCounts.length, histogram.dataPoints[0].explicitBounds.length + 1);
  });
});

describe('a collector with TLS', { timeout: HANG_MS }, () => {
  const secured = async (t, authority) => {
    const folder = scratch(t);
    const collector = await startCollector(t, { tls: makeAuthority(folder, 'collectors').issue() });
    const ca_file =
      authority === 'collectors' ? join(folder, 'collectors-ca.pem') : makeAuthority(folder, authority).file;
    const headers_file = join(folder, 'headers');
    writeFileSync(headers_file, 'x-api-key: canary-of-the-header\n', { mode: 0o600 });
    const telemetry = telemetryOf(collector.url, { ca_file, headers_file });
    const stack = await startStack(t, { config: { admin: ADMIN, telemetry } });
    return { ...stack, collector, headers_file, ca_file, folder };
  };

  it('receives the headers of the file, also after a change', async (t) => {
    const { gateway, collector, headers_file } = await secured(t, 'collectors');
    await collector.until(() => collector.exports.length > 0);
    assert.equal(collector.exports[0].metadata['x-api-key'], 'canary-of-the-header');
    assert.equal(collector.exports[0].metadata['user-agent'], `stampgate/${VERSION}`);
    writeFileSync(headers_file, 'x-api-key: another\n');
    await collector.until(() => collector.exports.at(-1).metadata['x-api-key'] === 'another');
    await gateway.stop();
    assert.ok(!gateway.output.includes('canary'));
  });

  it('receives exports after ca_file has changed to its CAs, without a restart', async (t) => {
    const { gateway, collector, ca_file, folder } = await secured(t, 'others');
    await logLines(gateway, 1, 'telemetry_failing');
    assert.deepEqual(collector.exports, []);
    copyFileSync(join(folder, 'collectors-ca.pem'), `${ca_file}.new`);
    renameSync(`${ca_file}.new`, ca_file);
    await collector.until(() => collector.exports.length > 0);
  });

  it('receives nothing if the CAs of the config have not issued its certificate', async (t) => {
    const { gateway, collector } = await secured(t, 'others');
    const [line] = await logLines(gateway, 1, 'telemetry_failing');
    assert.equal(line.code, 'UNAVAILABLE');
    await gateway.call(QUERY.method, QUERY.request);
    assert.deepEqual(collector.exports, []);
    await gateway.stop();
    assert.ok(!gateway.output.includes('canary'));
  });
});

describe('a collector that fails', { timeout: HANG_MS }, () => {
  const LOST = 'stampgate_telemetry_spans_lost_total';
  const DROPPED = 'stampgate_telemetry_calls_dropped_total';
  const failed = (signal) => `stampgate_telemetry_exports_total{result="failed",signal="${signal}"}`;

  const start = async (t, url, more) => {
    const telemetry = telemetryOf(url, { sampling_ratio: 1, ...more });
    return startStack(t, { config: { admin: ADMIN, telemetry } });
  };

  /** Ends the gateway, and checks that it does not wait for the collector longer than two seconds. */
  const endsInTime = async (gateway) => {
    const before = Date.now();
    const { status } = await gateway.stop();
    assert.equal(status, 0);
    assert.ok(Date.now() - before < 10_000);
  };

  it('for a while gets the spans later', async (t) => {
    const collector = await startCollector(t);
    collector.respond = () => ({ code: code.UNAVAILABLE });
    const { gateway } = await start(t, collector.url);
    const trace = newTrace();
    await gateway.call(QUERY.method, QUERY.request, traceparent(trace));
    await collector.until(() => collector.exports.some(({ signal }) => signal === 'traces'));
    await logLines(gateway, 2, 'telemetry_failing');
    collector.respond = () => ({});
    assert.ok((await collector.trace(trace)).length > 1);
    await logLines(gateway, 2, 'telemetry_recovered');
    assert.equal(await metric(gateway, LOST), 0);
    assert.ok(!gateway.output.includes('canary of the collector'));
  });

  it('because it refuses the spans loses them, and the gateway counts them', async (t) => {
    const collector = await startCollector(t);
    collector.respond = (signal) => (signal === 'traces' ? { code: code.INVALID_ARGUMENT } : {});
    const { gateway } = await start(t, collector.url);
    await gateway.call(QUERY.method, QUERY.request);
    await until(async () => (await metric(gateway, LOST)) > 1, 'lost spans');
    const [line] = await logLines(gateway, 1, 'telemetry_failing');
    assert.equal(line.code, 'INVALID_ARGUMENT');
  });

  it('by refusing a part of the spans makes the gateway count this part', async (t) => {
    const collector = await startCollector(t);
    collector.respond = (signal) => (signal === 'traces' ? { rejectedSpans: 2 } : {});
    const { gateway } = await start(t, collector.url);
    await gateway.call(QUERY.method, QUERY.request);
    await until(async () => (await metric(gateway, LOST)) > 0, 'lost spans');
    assert.equal(await metric(gateway, LOST), 2);
    assert.equal(logged(gateway, 'telemetry_failing').length, 0);
  });

  for (const [what, listen] of [
    ['is absent', null],
    ['accepts connections and is silent', () => {}],
    ['closes each connection', (socket) => socket.destroy()],
  ]) {
    it(`because it ${what} delays no call and not the end, and costs no memory`, async (t) => {
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        listen?.(socket);
      });
      const sockets = new Set();
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address();
      if (!listen) await new Promise((resolve) => server.close(resolve));
      t.after(() => {
        for (const socket of sockets) socket.destroy();
        server.close();
      });
      const { gateway } = await start(t, `http://127.0.0.1:${port}`, { max_queued_calls: 16, timeout: '30s' });
      await until(async () => {
        await Promise.all(Array.from({ length: 64 }, () => gateway.call(QUERY.method, QUERY.request)));
        return (await metric(gateway, DROPPED)) > 0;
      }, 'dropped calls');
      if (what !== 'accepts connections and is silent') {
        await until(async () => (await metric(gateway, failed('metrics'))) > 0, 'failed exports');
      }
      await endsInTime(gateway);
    });
  }

  it('by hanging after it has received an export does not delay the end', async (t) => {
    const collector = await startCollector(t);
    collector.respond = () => ({ hang: true });
    const { gateway } = await start(t, collector.url, { timeout: '30s' });
    await gateway.call(QUERY.method, QUERY.request);
    await collector.until(() => new Set(collector.exports.map(({ signal }) => signal)).size === 2);
    await endsInTime(gateway);
  });
});

describe('the last export', { timeout: HANG_MS }, () => {
  it('contains the spans and the metrics of the last calls', async (t) => {
    const collector = await startCollector(t);
    const telemetry = { endpoint: collector.url, span_interval: '10m', metric_interval: '10m' };
    const { gateway } = await startStack(t, { config: { telemetry } });
    const trace = newTrace();
    await gateway.call(QUERY.method, QUERY.request, traceparent(trace));
    assert.equal(collector.exports.length, 0);
    await gateway.stop();
    assert.ok(collector.spans().some(({ traceId }) => traceId === trace));
    const counted = `stampgate_calls_total{code="OK",method="/stampgate.v1.${QUERY.method}"}`;
    assert.equal(seriesOf(collector.metrics()).get(counted), 1);
  });
});

describe('the check of the config', { timeout: HANG_MS }, () => {
  it('reports the faults of telemetry', async (t) => {
    const folder = scratch(t);
    const headers = join(folder, 'headers');
    writeFileSync(headers, 'X-Api-Key canary\n', { mode: 0o600 });
    const file = join(folder, 'config.yaml');
    const telemetry = { endpoint: 'http://collector:4317', headers_file: headers, timeout: '2m', sampling_ratio: 1.5 };
    writeFileSync(file, JSON.stringify({ upstream: { base_url: 'https://host' }, telemetry }));
    const { status, stderr } = await run(['check', '--config', file]);
    assert.equal(status, 1);
    assert.match(stderr, /telemetry\.endpoint: may be http only for a loopback host; use https/);
    assert.match(stderr, /telemetry\.headers_file: line 1 must begin with a lower-case name/);
    assert.match(stderr, /telemetry\.timeout: must be from 100ms to 1m/);
    assert.match(stderr, /telemetry\.sampling_ratio: must be from 0 to 1/);
    assert.ok(!stderr.includes('canary'));
  });
});
