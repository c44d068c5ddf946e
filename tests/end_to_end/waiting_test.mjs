// Calls with wait_until return the true end of their activity, whichever way the gateway learns of it.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION, apiKeyNamed, submit, subOrganization } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { startEventStack } from './event_stack.mjs';
import { HANG_MS, auditConfig, scratch, startStack, writeKey } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';

const METHOD = 'OrganizationService/UpdateOrganizationName';
const PATH = 'update_organization_name';
const GET = '/public/v1/query/get_activity';

const COMPLETED = 'ACTIVITY_STATUS_COMPLETED';
const FAILED = 'ACTIVITY_STATUS_FAILED';
const REJECTED = 'ACTIVITY_STATUS_REJECTED';
const PENDING = 'ACTIVITY_STATUS_PENDING';
const CONSENSUS_NEEDED = 'ACTIVITY_STATUS_CONSENSUS_NEEDED';

/** The section `activities` of a config whose gateway reads activities soon, or never within a test. */
const QUICK = { poll_interval: '100ms', max_poll_interval: '1s', max_polls_per_second: 200 };
const NEVER = { poll_interval: '10m', max_poll_interval: '10m' };

const requestOf = (organization_name, more) => ({
  organization_id: ORGANIZATION,
  parameters: { organization_name },
  wait_until: 'WAIT_UNTIL_FINAL',
  ...more,
});

const openIds = (simulator) => simulator.service.open.ids();

/** From now on, activities are open until a test ends them, or until this many users have approved them. */
function keepOpen(simulator, approvals) {
  simulator.addFaults([{ kind: 'pending', times: 'always', match: { path: PATH }, ...(approvals && { approvals }) }]);
}

/** Resolves to the id of the only open activity. */
async function opened(simulator) {
  await until(() => openIds(simulator).length === 1, 'the activity');
  return openIds(simulator)[0];
}

/** Starts a simulator and a gateway. `activities` is the config's section. */
const start = (t, { activities, events = true, config, ...more } = {}) =>
  startStack(t, { events, config: { activities, admin: ADMIN, ...config }, ...more });

/** Resolves when this number of calls waits for the ends of activities. */
const waits = (gateway, count) =>
  until(async () => (await metricsOf(gateway)).get('stampgate_waiting_calls') === count, `${count} waiting calls`);

const readsOf = (simulator) => simulator.stats().paths[GET]?.requests ?? 0;

/**
 * The faults of a response: an end that upstream does not know, a missing result, or an activity that upstream has ended
 * differently.
 */
function faultsOf(simulator, { activity }) {
  const truth = simulator.service.state.activitiesById.get(activity.id);
  if (truth === undefined) return [`${activity.id} is unknown`];
  const faults = [];
  if (activity.status !== truth.status) faults.push(`${activity.status} instead of ${truth.status}`);
  const name = activity.result?.update_organization_name_result?.organization_name;
  if (name !== truth.result?.updateOrganizationNameResult?.organizationName) faults.push(`the result is ${name}`);
  if ((activity.failure?.message ?? '') !== (truth.failure?.message ?? '')) faults.push('the failure differs');
  if (activity.fingerprint !== truth.fingerprint) faults.push('the fingerprint differs');
  return faults;
}

describe('many activities that end in every way, with every kind of report', { timeout: 4 * HANG_MS }, () => {
  test('each call returns the true end of its activity', async (t) => {
    const random = new Random(t);
    const count = LONG ? 10_000 : 1_000;
    const atOnce = 500;
    const { simulator, gateway } = await start(t, { activities: QUICK });
    keepOpen(simulator);
    let late = 0;
    for (let begun = 0; begun < count; begun += atOnce) {
      const calls = Array.from({ length: atOnce }, (_, index) =>
        gateway.call(METHOD, requestOf(`name ${begun + index}`), { deadlineMs: HANG_MS }),
      );
      await until(() => openIds(simulator).length === atOnce, 'the activities');
      for (const id of openIds(simulator)) {
        const status = random.pick([COMPLETED, FAILED, REJECTED]);
        // An event reports the end at once, or only a reading does, before a late event or without any.
        const report = random.pick(['event', 'late event', 'none']);
        const activity = simulator.endActivity(id, { status, event: report === 'event' });
        if (report !== 'late event') continue;
        late += 1;
        setTimeout(() => simulator.service.activityChanged(activity), 1000).unref();
      }
      for (const answer of await Promise.all(calls)) {
        assert.deepEqual(faultsOf(simulator, answer), []);
        assert.ok([COMPLETED, FAILED, REJECTED].includes(answer.activity.status), answer.activity.status);
      }
    }
    assert.ok(late > 0);
    const metrics = await metricsOf(gateway);
    const endsBy = (end) => metrics.get(`stampgate_waits_total{end="${end}"}`);
    assert.ok(endsBy('event') > 0 && endsBy('poll') > 0);
    assert.equal(endsBy('event') + endsBy('poll'), count);
    assert.equal(metrics.get('stampgate_waiting_calls'), 0);
  });

  test('the judge of ends notices a wrong end', async (t) => {
    const { simulator, gateway } = await start(t);
    const { activity } = await gateway.call(METHOD, requestOf('x'));
    assert.deepEqual(faultsOf(simulator, { activity }), []);
    assert.equal(faultsOf(simulator, { activity: { ...activity, status: REJECTED } }).length, 1);
    assert.equal(faultsOf(simulator, { activity: { ...activity, result: undefined } }).length, 1);
    assert.equal(faultsOf(simulator, { activity: { ...activity, id: randomUUID() } }).length, 1);
  });
});

describe('an end is reported', { timeout: 2 * HANG_MS }, () => {
  test('by an event alone', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER });
    keepOpen(simulator);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    simulator.endActivity(await opened(simulator));
    const answer = await call;
    assert.equal(answer.activity.status, COMPLETED);
    assert.deepEqual(faultsOf(simulator, answer), []);
    assert.equal(answer.unrecognized, undefined);
    assert.equal(readsOf(simulator), 0);
  });

  test('by an event that arrives before the response to the submit', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER });
    const faults = [{ kind: 'pending' }, { kind: 'slow', untilReleased: true }];
    simulator.addFaults([{ kind: 'together', faults, match: { path: PATH } }]);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    await simulator.waitFor({ held: 1 });
    simulator.endActivity(await opened(simulator));
    await simulator.webhooks.waitFor({ acknowledged: 2 });
    simulator.release();
    assert.equal((await call).activity.status, COMPLETED);
    assert.equal(readsOf(simulator), 0);
  });

  test('by a reading alone, if the gateway receives no events', async (t) => {
    const { simulator, gateway } = await start(t, { activities: QUICK, events: false });
    keepOpen(simulator);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    simulator.endActivity(await opened(simulator), { status: FAILED });
    const answer = await call;
    assert.deepEqual(faultsOf(simulator, answer), []);
    assert.equal(answer.activity.failure.message, 'the activity failed');
    assert.equal(answer.unrecognized, undefined);
  });

  test('by a reading, if the event lacks the result', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER });
    keepOpen(simulator);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    const activity = simulator.endActivity(await opened(simulator), { event: false });
    simulator.webhooks.send({ json: { ...activity, result: {} } });
    assert.deepEqual(faultsOf(simulator, await call), []);
    assert.equal(readsOf(simulator), 1);
  });

  test('to a call of a general operation too', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER });
    simulator.addFaults([{ kind: 'pending' }]);
    const call = gateway.call(
      'GeneralService/SubmitOperation',
      {
        ...{ organization_id: ORGANIZATION, path: 'init_otp', activity_type: 'ACTIVITY_TYPE_INIT_OTP_V3' },
        parameters: JSON.stringify({ otpType: 'OTP_TYPE_EMAIL', contact: 'a@example.com', appName: 'app' }),
        wait_until: 'WAIT_UNTIL_FINAL',
      },
      { deadlineMs: HANG_MS },
    );
    simulator.endActivity(await opened(simulator));
    const { activity } = JSON.parse((await call).answer);
    assert.equal(activity.status, COMPLETED);
    assert.ok(activity.result.initOtpResultV2.otpId);
  });

  test('once to all calls that wait for the same activity, which share the readings', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER, events: true });
    keepOpen(simulator);
    const request = requestOf('x', { timestamp_ms: String(Date.now()) });
    const calls = Array.from({ length: 20 }, () => gateway.call(METHOD, request, { deadlineMs: HANG_MS }));
    await simulator.waitFor({ requests: 20 });
    await waits(gateway, 20);
    simulator.endActivity(await opened(simulator), { status: REJECTED });
    for (const { activity } of await Promise.all(calls)) assert.equal(activity.status, REJECTED);
  });

  test('only by upstream: forged and foreign reports end no call', async (t) => {
    const { simulator, gateway } = await start(t, { activities: NEVER });
    simulator.webhooks.change({ maxAttempts: 1 });
    keepOpen(simulator);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    const activity = simulator.service.state.activitiesById.get(await opened(simulator));
    await waits(gateway, 1);
    const forged = { ...activity, status: REJECTED };
    for (const event of [
      { json: forged, faults: [{ kind: 'wrongSignature' }] },
      { json: forged, faults: [{ kind: 'otherKey' }] },
      { json: { ...forged, organizationId: subOrganization(1) } },
      { json: { ...forged, organizationId: undefined } },
      { json: { ...forged, id: randomUUID() } },
      { json: { ...forged, type: 'transaction:status' } },
      { json: { activity: forged } },
      { json: { ...forged, status: 'ACTIVITY_STATUS_UNHEARD_OF' } },
      { body: JSON.stringify(forged).replace('{', `{"status":"${REJECTED}",`) },
    ]) {
      await simulator.webhooks.send(event).done;
    }
    assert.equal((await metricsOf(gateway)).get('stampgate_waiting_calls'), 1);
    simulator.endActivity(activity.id);
    assert.deepEqual(faultsOf(simulator, await call), []);
  });

  test('to a gateway that did not receive the delivery, if the gateways share the log', async (t) => {
    const postgres = await PostgresServer.create(t);
    const stack = await SharedLogStack.prepare(t, { hosts: [postgres.host], allow_single_server: true });
    const config = stack.config.bind(stack);
    stack.config = (store) => ({ ...config(store), activities: NEVER });
    const [asked, receiver] = [await stack.start(), await stack.start()];
    stack.simulator.webhooks.setEndpoints(null, [receiver.webhookUrl]);
    keepOpen(stack.simulator);
    const call = asked.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    stack.simulator.endActivity(await opened(stack.simulator));
    assert.deepEqual(faultsOf(stack.simulator, await call), []);
    assert.equal(readsOf(stack.simulator), 0);
  });
});

describe('a call that needs consensus', { timeout: 2 * HANG_MS }, () => {
  const QUERY = { organization_id: ORGANIZATION };

  /** Starts a gateway with two callers, whose keys belong to two users of the organization. */
  async function startTwo(t, activities) {
    const folder = scratch(t);
    const keyOf = (name, apiKey) => ({
      ...{ name, file: writeKey(folder, apiKeyNamed(apiKey), `${name}.key`), all_organizations: true },
    });
    const methods = ['ActivityService/ApproveActivity', 'ActivityService/RejectActivity'];
    const stack = await start(t, {
      activities,
      config: {
        keys: [keyOf('proposer', 'gateway p256'), keyOf('approver', 'end user 1')],
        callers: [
          callerOf('proposer', [{ methods: [METHOD], all_organizations: true, key: 'proposer' }]),
          callerOf('approver', [
            { methods: [...methods, 'ActivityService/ListActivities'], all_organizations: true, key: 'approver' },
          ]),
        ],
      },
    });
    keepOpen(stack.simulator, 2);
    return { ...stack, proposer: asCaller(stack.gateway, 'proposer'), approver: asCaller(stack.gateway, 'approver') };
  }

  test('returns when a second caller has approved its activity', async (t) => {
    const { simulator, proposer, approver } = await startTwo(t, NEVER);
    const call = proposer.call(METHOD, requestOf('Approved'), { deadlineMs: HANG_MS });
    await opened(simulator);
    const filter = { filter_by_status: [CONSENSUS_NEEDED] };
    const { activities } = await approver.call('ActivityService/ListActivities', { ...QUERY, ...filter });
    assert.equal(activities.length, 1);
    assert.equal(activities[0].can_approve, true);
    assert.deepEqual(
      activities[0].votes.map(({ user }) => user.user_name),
      ['gateway'],
    );
    const parameters = { fingerprint: activities[0].fingerprint };
    const vote = await approver.call('ActivityService/ApproveActivity', { ...QUERY, parameters });
    assert.equal(vote.activity.status, COMPLETED);
    const answer = await call;
    assert.deepEqual(faultsOf(simulator, answer), []);
    assert.deepEqual(
      answer.activity.votes.map(({ user }) => user.user_name),
      ['gateway', 'end user'],
    );
  });

  test('returns when a second caller has rejected its activity', async (t) => {
    const { simulator, proposer, approver } = await startTwo(t, QUICK);
    const call = proposer.call(METHOD, requestOf('Rejected'), { deadlineMs: HANG_MS });
    const { fingerprint } = simulator.service.state.activitiesById.get(await opened(simulator));
    const vote = { ...QUERY, parameters: { fingerprint } };
    assert.equal((await approver.call('ActivityService/RejectActivity', vote)).activity.status, REJECTED);
    assert.equal((await call).activity.status, REJECTED);
  });

  test('returns the pending activity at its deadline, with the votes so far, if the votes have expired', async (t) => {
    const { simulator, gateway } = await start(t, { activities: QUICK });
    keepOpen(simulator, 3);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: 10_000 });
    const { fingerprint } = simulator.service.state.activitiesById.get(await opened(simulator));
    const apiKey = apiKeyNamed('end user 1');
    await submit(simulator, 'approve_activity', 'APPROVE_ACTIVITY', { fingerprint }, { apiKey });
    const read = readsOf(simulator);
    await until(() => readsOf(simulator) > read + 1, 'a reading after the vote');
    simulator.change({ clockOffsetMs: 24 * 3_600_000 });
    const answer = await call;
    assert.equal(answer.activity.status, CONSENSUS_NEEDED);
    assert.equal(answer.activity.votes.length, 2);
    assert.deepEqual(faultsOf(simulator, answer), []);
  });
});

describe('a wait ends without an end of the activity', { timeout: 2 * HANG_MS }, () => {
  test('at the limit of the config', async (t) => {
    const { simulator, gateway } = await start(t, { activities: { ...NEVER, max_wait: '1s' } });
    keepOpen(simulator);
    const { activity } = await gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    assert.equal(activity.status, PENDING);
  });

  test('at once, if too many calls wait', async (t) => {
    const { simulator, gateway } = await start(t, { activities: { ...NEVER, max_waiting: 0 } });
    keepOpen(simulator);
    const { activity } = await gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    assert.equal(activity.status, PENDING);
  });

  test('when the gateway drains', async (t) => {
    const stack = await startEventStack(t, { config: { activities: NEVER, admin: ADMIN } });
    keepOpen(stack.simulator);
    const calls = Array.from({ length: 10 }, () =>
      stack.gateway.call(METHOD, requestOf(randomUUID()), { deadlineMs: HANG_MS }),
    );
    await waits(stack.gateway, 10);
    stack.gateway.child.kill('SIGTERM');
    for (const { activity } of await Promise.all(calls)) assert.equal(activity.status, PENDING);
    await stack.gateway.exited;
  });

  test('when the caller leaves, and the gateway then reads the activity no more', async (t) => {
    const { simulator, gateway } = await start(t, { activities: QUICK });
    keepOpen(simulator);
    let sent;
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS, onCall: (made) => (sent = made) });
    await until(() => readsOf(simulator) > 0, 'a reading');
    sent.cancel();
    await assert.rejects(call);
    await waits(gateway, 0);
    const ends = await metricsOf(gateway);
    assert.equal(ends.get('stampgate_waits_total{end="caller_left"}'), 1);
  });
});

test('a repeated call waits on after its gateway was killed', { timeout: 2 * HANG_MS }, async (t) => {
  const stack = await startEventStack(t, { config: { activities: QUICK, admin: ADMIN } });
  keepOpen(stack.simulator);
  const request = requestOf('x', { idempotency_key: randomUUID() });
  const broken = stack.gateway.refusal(METHOD, request, { deadlineMs: HANG_MS });
  const id = await opened(stack.simulator);
  await waits(stack.gateway, 1);
  await stack.restart('SIGKILL');
  assert.equal((await broken).info, undefined);
  const again = stack.gateway.call(METHOD, request, { deadlineMs: HANG_MS });
  await waits(stack.gateway, 1);
  stack.simulator.endActivity(id, { event: false });
  const answer = await again;
  assert.equal(answer.activity.id, id);
  assert.deepEqual(faultsOf(stack.simulator, answer), []);
  assert.equal(
    new Set(
      stack.simulator
        .requests()
        .filter(({ path }) => path.endsWith(PATH))
        .map(({ body }) => body),
    ).size,
    1,
  );
});

test(
  'the audit log has the outcome of a submit before its wait ends, and a record of each reading',
  {
    timeout: 2 * HANG_MS,
  },
  async (t) => {
    const audit = await auditConfig(scratch(t));
    const { simulator, gateway } = await start(t, { activities: QUICK, config: { audit } });
    keepOpen(simulator);
    const call = gateway.call(METHOD, requestOf('x'), { deadlineMs: HANG_MS });
    const id = await opened(simulator);
    const of = (kind) => recordsOf(audit.file).filter((record) => record.kind === kind);
    await until(() => of('outcome').length >= 2, 'the outcomes of the submit and of a reading');
    assert.equal((await metricsOf(gateway)).get('stampgate_waiting_calls'), 1);
    const [submitted, read] = of('allow');
    const outcomeOf = ({ seq }) => of('outcome').find(({ allow }) => allow === seq);
    assert.equal(submitted.method, `/stampgate.v1.${METHOD}`);
    assert.deepEqual([outcomeOf(submitted).activity_id, outcomeOf(submitted).activity_status], [id, PENDING]);
    assert.equal(read.method, '/stampgate.v1.ActivityService/GetActivity');
    assert.deepEqual([read.caller, read.key, read.request_id], [submitted.caller, 'main', submitted.request_id]);
    const bodyOfReading = simulator.requests().find(({ path }) => path === GET).body;
    assert.equal(read.body_sha256, createHash('sha256').update(bodyOfReading).digest('hex'));
    simulator.endActivity(id, { event: false });
    assert.deepEqual(faultsOf(simulator, await call), []);
    await until(() => of('outcome').length === of('allow').length, 'the outcome of every reading');
  },
);
