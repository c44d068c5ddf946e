// Tests the log's lines about calls, and the request id, which is in the log, in the audit log, in the caller's
// response and in upstream's request.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { QUERY, SUBMIT, described } from './failures.mjs';
import { HANG_MS, auditConfig, freeCaller, run, scratch, startStack } from './harness.mjs';
import { logLines, logged, recordsOf } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';
import { Subscriber } from './subscriber.mjs';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

/** Makes a call. Resolves to the response or the error, and to the request id that the caller received with it. */
async function traced(gateway, method, request, metadata = {}) {
  let status;
  const onCall = (call) => call.on('status', (end) => (status = end));
  const answer = await gateway.call(method, request, { metadata, onCall }).catch((error) => error);
  const ids = (answer instanceof Error ? answer : status).metadata.get('x-request-id');
  assert.equal(ids.length, 1);
  assert.match(ids[0], /^[0-9a-f]{32}$/);
  return { answer, id: ids[0] };
}

/** The one line of this event that has the request id. */
async function lineOf(gateway, event, id) {
  const found = () => logged(gateway, event).filter(({ request_id }) => request_id === id);
  await until(() => found().length > 0, `a line ${event} of ${id}`);
  const [{ time, duration_ms, ...rest }, ...others] = found();
  assert.deepEqual(others, []);
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < HANG_MS);
  assert.equal(typeof duration_ms, 'number');
  assert.ok(duration_ms > 0 && duration_ms < HANG_MS);
  return rest;
}

describe('a refused call has a line', { timeout: HANG_MS, concurrency: false }, async () => {
  const audit = await auditConfig(scratch({ after }));
  const callers = [callerOf('support', [{ classes: ['query'], organizations: [ORGANIZATION] }])];
  const { gateway, simulator } = await startStack({ after }, { config: { callers, audit } });
  const support = asCaller(gateway, 'support');

  it('that no grant allows: with caller, method and reason', async () => {
    const { answer, id } = await traced(support, SUBMIT.method, SUBMIT.request);
    assert.equal(answer.code, code.PERMISSION_DENIED);
    assert.deepEqual(await lineOf(gateway, 'call_refused', id), {
      severity: 'WARNING',
      event: 'call_refused',
      request_id: id,
      caller: 'support',
      method: `/stampgate.v1.${SUBMIT.method}`,
      code: 'PERMISSION_DENIED',
      reason: 'DENIED_BY_POLICY',
      message: answer.details,
    });
  });

  it('of a stranger: with the certificate of its connection', async () => {
    const { answer, id } = await traced(gateway, QUERY.method, QUERY.request);
    assert.equal(answer.code, code.UNAUTHENTICATED);
    const line = await lineOf(gateway, 'call_refused', id);
    assert.deepEqual([line.caller, line.code, line.reason], ['(loopback)', 'UNAUTHENTICATED', 'CALLER_NOT_RECOGNIZED']);
  });

  it('with an invalid request: without any text of the request', async () => {
    const canary = 'canary-5f1c9b7e';
    for (const [method, request] of [
      [QUERY.method, { ...QUERY.request, policy_id: '' }],
      ['StampService/Prepare', { method: canary, request: Buffer.from(canary) }],
    ]) {
      const { answer, id } = await traced(support, method, request);
      assert.equal(answer.code, code.INVALID_ARGUMENT);
      const line = await lineOf(gateway, 'call_refused', id);
      assert.deepEqual([line.caller, line.reason], ['support', 'INVALID_REQUEST']);
    }
    assert.ok(!gateway.output.includes(canary));
  });

  it('of the service for stamps and of the service for events', async () => {
    const prepare = await traced(support, 'StampService/Prepare', { method: 'no such' });
    assert.equal((await lineOf(gateway, 'call_refused', prepare.id)).reason, 'INVALID_REQUEST');
    const list = await traced(support, 'EventService/ListEvents', { end: 'LOG_END_EARLIEST' });
    const line = await lineOf(gateway, 'call_refused', list.id);
    assert.deepEqual([line.caller, line.code], ['support', 'PERMISSION_DENIED']);
  });

  it('but a successful call has no line', async () => {
    const { answer, id } = await traced(support, QUERY.method, QUERY.request);
    assert.ok(answer.policy);
    const refused = await traced(support, SUBMIT.method, SUBMIT.request);
    await lineOf(gateway, 'call_refused', refused.id);
    assert.ok(!gateway.output.includes(id));
  });

  it('with the request id of the audit log, which is still valid', async () => {
    const denied = await traced(support, SUBMIT.method, SUBMIT.request);
    const allowed = await traced(support, QUERY.method, QUERY.request);
    const of = (kind, id) => recordsOf(audit.file).filter((record) => record.kind === kind && record.request_id === id);
    await lineOf(gateway, 'call_refused', denied.id);
    assert.equal(of('allow', allowed.id).length, 1);
    await gateway.stop();
    assert.equal(of('deny', denied.id).length, 1);
    const { status, stdout, stderr } = await run(['audit', 'verify', '--key', audit.key_file, audit.file]);
    assert.equal(status, 0, stdout + stderr);
    assert.ok(simulator.stats().requests > 0);
  });
});

describe('a call that arrives while the gateway drains', { timeout: HANG_MS }, () => {
  it('has a line in the log too', async (t) => {
    const { gateway, simulator } = await startStack(t);
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const held = gateway.call(SUBMIT.method, SUBMIT.request);
    await simulator.waitFor({ held: 1 });
    gateway.child.kill('SIGTERM');
    await logLines(gateway, 1, 'draining');
    let refused;
    await until(async () => {
      refused = await traced(gateway, QUERY.method, QUERY.request);
      return refused.answer.info?.reason === 'SHUTTING_DOWN';
    }, 'a call is refused');
    simulator.release();
    assert.ok((await held).activity);
    const { caller, code: name, reason } = await lineOf(gateway, 'call_refused', refused.id);
    assert.deepEqual([caller, name, reason], ['(loopback)', 'UNAVAILABLE', 'SHUTTING_DOWN']);
  });
});

describe('the error of a denied call', { timeout: HANG_MS }, async () => {
  const callers = [callerOf('support', [{ classes: ['query'], organizations: [ORGANIZATION] }])];
  const { gateway } = await startStack({ after }, { config: { callers } });
  const support = asCaller(gateway, 'support');

  it('names the caller and the missing grant', async () => {
    const denied = described(await support.refusal(SUBMIT.method, SUBMIT.request));
    assert.deepEqual([denied.code, denied.reason], ['PERMISSION_DENIED', 'DENIED_BY_POLICY']);
    assert.deepEqual(denied.metadata, { caller: 'support', method: SUBMIT.method, policy_class: 'write' });
    assert.ok(denied.message.includes('support') && denied.message.includes(SUBMIT.method), denied.message);
    const events = described(await support.refusal('EventService/GetEvent', { event_id: 'e' }));
    assert.deepEqual(events.metadata, { caller: 'support', method: 'EventService/GetEvent', policy_class: 'events' });
  });

  it('is the same for an organization that exists and for one that does not', async () => {
    const failures = [];
    for (const organization_id of [subOrganization(1), identifier(99)]) {
      failures.push(described(await support.refusal(QUERY.method, { ...QUERY.request, organization_id })));
    }
    assert.deepEqual(failures[0], failures[1]);
  });

  it("describes a stranger's connection", async () => {
    const { code: name, metadata } = described(await gateway.refusal(QUERY.method, QUERY.request));
    assert.deepEqual([name, metadata], ['UNAUTHENTICATED', { seen: '(loopback)' }]);
  });
});

describe('the number of lines is limited', { timeout: HANG_MS }, () => {
  it('for each caller, and the log reports how many lines were omitted', async (t) => {
    const callers = [callerOf('support', []), callerOf('payments', [])];
    const { gateway } = await startStack(t, { config: { callers } });
    for (let i = 0; i < 50; ++i) await asCaller(gateway, 'support').refusal(QUERY.method, QUERY.request);
    await asCaller(gateway, 'payments').refusal(QUERY.method, QUERY.request);
    await gateway.stop();
    const refused = logged(gateway, 'call_refused');
    assert.equal(refused.filter(({ caller }) => caller === 'support').length, 30);
    assert.equal(refused.filter(({ caller }) => caller === 'payments').length, 1);
    const left = logged(gateway, 'call_lines_left_out').map(({ left_out, caller, count }) => [left_out, caller, count]);
    assert.deepEqual(left, [['call_refused', 'support', 20]]);
  });
});

describe('if the config requests a line for every call', { timeout: HANG_MS, concurrency: false }, async () => {
  const { gateway, simulator } = await startStack({ after }, { config: { log: { calls: true } }, events: true });

  it('the line of a submit has its activity, its fingerprint and its key', async () => {
    const { answer, id } = await traced(gateway, SUBMIT.method, SUBMIT.request);
    assert.deepEqual(await lineOf(gateway, 'call_ended', id), {
      severity: 'INFO',
      event: 'call_ended',
      request_id: id,
      caller: 'loopback',
      method: `/stampgate.v1.${SUBMIT.method}`,
      organization_id: ORGANIZATION,
      code: 'OK',
      key: 'main',
      activity_id: answer.activity.id,
      fingerprint: answer.activity.fingerprint,
    });
  });

  it("the line of a call that upstream refused has upstream's code", async () => {
    const { answer, id } = await traced(gateway, QUERY.method, { ...QUERY.request, policy_id: identifier(77) });
    assert.equal(answer.info.domain, 'upstream');
    const line = await lineOf(gateway, 'call_ended', id);
    assert.deepEqual([line.code, line.upstream_code, line.reason], ['NOT_FOUND', answer.info.reason, undefined]);
  });

  it('a subscription has a line when it ends', async () => {
    await deliver(simulator);
    const subscriber = await Subscriber.start(gateway);
    await subscriber.leave();
    await logLines(gateway, 3, 'call_ended');
    const [line] = logged(gateway, 'call_ended').filter(({ method }) => method.endsWith('/Subscribe'));
    assert.equal(line.caller, 'loopback');
  });
});

describe('a log level', { timeout: HANG_MS }, () => {
  it('omits lines of a lower severity', async (t) => {
    const { gateway } = await startStack(t, {
      config: { log: { level: 'warning' }, callers: [callerOf('support', [])] },
    });
    await asCaller(gateway, 'support').refusal(QUERY.method, QUERY.request);
    await gateway.stop();
    const severities = new Set(
      gateway.output
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).severity),
    );
    assert.deepEqual([...severities], ['WARNING']);
  });
});

describe('a traceparent', { timeout: HANG_MS }, async () => {
  const { gateway, simulator } = await startStack(
    { after },
    { config: { callers: freeCaller() }, upstream: { forward_traceparent: true } },
  );
  const headersOf = ({ headers }, name) =>
    headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);

  it("sets the call's request id, and is sent to upstream with a new parent id", async () => {
    for (const { method, request } of [QUERY, SUBMIT, { method: 'WebhookService/GetWebhookKeySet', request: {} }]) {
      simulator.clearRequests();
      const { id } = await traced(gateway, method, request, { traceparent: TRACEPARENT });
      assert.equal(id, TRACE_ID);
      const [sent] = headersOf(simulator.requests()[0], 'traceparent');
      const [version, trace, parent, flags] = sent.split('-');
      assert.deepEqual([version, trace, flags], ['00', TRACE_ID, '01']);
      assert.match(parent, /^[0-9a-f]{16}$/);
      assert.notEqual(parent, TRACEPARENT.split('-')[2]);
    }
  });

  it('that is malformed or missing is replaced by a new one', async () => {
    const ids = new Set();
    for (const traceparent of [
      undefined,
      '',
      'canary',
      TRACEPARENT.toUpperCase(),
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    ]) {
      simulator.clearRequests();
      const { answer, id } = await traced(
        gateway,
        QUERY.method,
        QUERY.request,
        traceparent === undefined ? {} : { traceparent },
      );
      assert.ok(answer.policy);
      ids.add(id);
      assert.equal(headersOf(simulator.requests()[0], 'traceparent')[0].split('-')[1], id);
    }
    assert.equal(ids.size, 5);
    assert.ok(!ids.has(TRACE_ID));
  });

  it('is sent to upstream only with upstream.forward_traceparent', async (t) => {
    const stack = await startStack(t);
    const { id } = await traced(stack.gateway, QUERY.method, QUERY.request, { traceparent: TRACEPARENT });
    assert.equal(id, TRACE_ID);
    assert.deepEqual(headersOf(stack.simulator.requests()[0], 'traceparent'), []);
  });
});
