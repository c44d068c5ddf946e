// Tests the activities of the simulated service that do not end at once: votes, and ends that a test decides.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startSimulator } from './server.mjs';
import * as testing from './testing.mjs';

const { apiKeyNamed, post, query, submit, subOrganization } = testing;

const withSimulator = (use, options = {}) => testing.withSimulator(startSimulator, options, use);

const apiKey = apiKeyNamed('end user 1');
const PARAMETERS = { organizationName: 'Renamed' };
const rename = (simulator, options) =>
  submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', PARAMETERS, options);
const approve = (simulator, { fingerprint }, options) =>
  submit(simulator, 'approve_activity', 'APPROVE_ACTIVITY', { fingerprint }, options);
const reject = (simulator, { fingerprint }, options) =>
  submit(simulator, 'reject_activity', 'REJECT_ACTIVITY', { fingerprint }, options);
const read = async (simulator, { id }, options) =>
  (await query(simulator, 'get_activity', { activityId: id }, options)).json.activity;
const nameOf = async (simulator) => (await query(simulator, 'whoami')).json.organizationName;

/** Submits an activity that needs this number of approvals, with the proposer's. */
async function proposed(simulator, approvals = 2) {
  simulator.addFaults([{ kind: 'pending', approvals }]);
  return (await rename(simulator)).json.activity;
}

describe('an activity that needs consensus', () => {
  test(
    'is carried out when enough users have approved it',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator);
      assert.equal(activity.status, 'ACTIVITY_STATUS_CONSENSUS_NEEDED');
      assert.equal(activity.canApprove, false, 'the proposer has voted');
      assert.equal((await read(simulator, activity, { apiKey })).canApprove, true);
      assert.equal(await nameOf(simulator), 'Example');

      const { json } = await approve(simulator, activity, { apiKey });
      assert.equal(json.activity.id, activity.id);
      assert.equal(json.activity.status, 'ACTIVITY_STATUS_COMPLETED');
      assert.equal(json.activity.result.updateOrganizationNameResult.organizationName, 'Renamed');
      assert.deepEqual(
        json.activity.votes.map(({ user }) => user.userName),
        ['gateway', 'end user'],
      );
      assert.equal(json.activity.canApprove, false);
      assert.equal(await nameOf(simulator), 'Renamed');
      assert.deepEqual(await read(simulator, activity), json.activity);
    }),
  );

  test(
    'waits for further approvals',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator, 3);
      const { json } = await approve(simulator, activity, { apiKey });
      assert.equal(json.activity.status, 'ACTIVITY_STATUS_CONSENSUS_NEEDED');
      assert.equal(json.activity.votes.length, 2);
      await approve(simulator, activity, { apiKey });
      assert.equal((await read(simulator, activity)).votes.length, 2, 'a user has one vote');
    }),
  );

  test(
    'ends when a user rejects it',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator);
      const { json } = await reject(simulator, activity, { apiKey });
      assert.equal(json.activity.status, 'ACTIVITY_STATUS_REJECTED');
      assert.equal(json.activity.result, undefined);
      assert.equal(await nameOf(simulator), 'Example');
      assert.equal((await approve(simulator, activity)).status, 400);
    }),
  );

  test(
    'accepts no vote after 24 hours, and keeps its status',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator);
      simulator.change({ clockOffsetMs: 24 * 3_600_000 });
      const parameters = { fingerprint: activity.fingerprint };
      const body = {
        ...{ type: 'ACTIVITY_TYPE_APPROVE_ACTIVITY', organizationId: testing.ORGANIZATION, parameters },
        timestampMs: String(Date.now() + 24 * 3_600_000),
      };
      assert.equal((await post(simulator, '/public/v1/submit/approve_activity', body, { apiKey })).status, 400);
      assert.equal((await read(simulator, activity)).status, 'ACTIVITY_STATUS_CONSENSUS_NEEDED');
    }),
  );

  test(
    'is unknown by another fingerprint, and in another organization',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator);
      assert.equal((await approve(simulator, { fingerprint: 'sha256:ab' })).status, 404);
      assert.equal((await approve(simulator, activity, { organizationId: subOrganization(1) })).status, 404);
    }),
  );

  test(
    'has votes with an activity of their own, with the setting for it',
    withSimulator(async (simulator) => {
      simulator.change({ voteAnswer: 'vote' });
      const activity = await proposed(simulator);
      const { json } = await approve(simulator, activity, { apiKey });
      assert.notEqual(json.activity.id, activity.id);
      assert.equal(json.activity.type, 'ACTIVITY_TYPE_APPROVE_ACTIVITY');
      assert.deepEqual(json.activity.intent, { approveActivityIntent: { fingerprint: activity.fingerprint } });
      assert.equal((await read(simulator, activity)).status, 'ACTIVITY_STATUS_COMPLETED');
    }),
  );

  test(
    'a repeated vote returns the activity',
    withSimulator(async (simulator) => {
      const activity = await proposed(simulator);
      const parameters = { fingerprint: activity.fingerprint };
      const body = {
        ...{ type: 'ACTIVITY_TYPE_APPROVE_ACTIVITY', organizationId: testing.ORGANIZATION, parameters },
        timestampMs: testing.freshTimestamp(),
      };
      const path = '/public/v1/submit/approve_activity';
      const [first, again] = [
        await post(simulator, path, body, { apiKey }),
        await post(simulator, path, body, { apiKey }),
      ];
      assert.deepEqual(again.json, first.json);
    }),
  );
});

describe('an activity that a test ends', () => {
  for (const status of ['COMPLETED', 'FAILED', 'REJECTED'].map((each) => `ACTIVITY_STATUS_${each}`)) {
    test(
      `is pending until then: ${status}`,
      withSimulator(async (simulator) => {
        simulator.addFaults([{ kind: 'pending' }]);
        const { activity } = (await rename(simulator)).json;
        assert.equal(activity.status, 'ACTIVITY_STATUS_PENDING');
        assert.equal(activity.result, undefined);
        simulator.endActivity(activity.id, { status });
        const ended = await read(simulator, activity);
        assert.equal(ended.status, status);
        assert.equal(ended.result !== undefined, status === 'ACTIVITY_STATUS_COMPLETED');
        assert.equal(ended.failure !== null, status === 'ACTIVITY_STATUS_FAILED');
        assert.throws(() => simulator.endActivity(activity.id));
      }),
    );
  }

  test(
    'fails if it can no longer be carried out',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'pending' }]);
      const parameters = { endpointId: testing.identifier(999) };
      const { activity } = (await submit(simulator, 'delete_webhook_endpoint', 'DELETE_WEBHOOK_ENDPOINT', parameters))
        .json;
      simulator.endActivity(activity.id);
      const { status, failure } = await read(simulator, activity);
      assert.equal(status, 'ACTIVITY_STATUS_FAILED');
      assert.equal(failure.message, 'no such webhook endpoint');
    }),
  );
});

test(
  'a webhook reports each change of an activity',
  withSimulator(async (simulator) => {
    const receiver = await testing.startReceiver();
    try {
      simulator.webhooks.setEndpoints(null, [receiver.url]);
      const activity = await proposed(simulator, 3);
      await approve(simulator, activity, { apiKey });
      simulator.endActivity(activity.id);
      await simulator.webhooks.waitFor({ done: 3 });
      const bodies = simulator.webhooks.deliveries().map(({ body }) => JSON.parse(body));
      const seen = ({ status, votes }) => `${status.slice('ACTIVITY_STATUS_'.length)} ${votes.length}`;
      assert.deepEqual(bodies.map(seen).sort(), ['COMPLETED 2', 'CONSENSUS_NEEDED 1', 'CONSENSUS_NEEDED 2']);
    } finally {
      await receiver.close();
    }
  }),
);

test(
  'list_activities filters and pages, and the newest activity comes first',
  withSimulator(async (simulator) => {
    const made = [];
    for (let i = 0; i < 12; ++i) {
      if (i % 3 === 0) simulator.addFaults([{ kind: 'pending' }]);
      made.unshift((await rename(simulator)).json.activity.id);
    }
    const list = async (body) => (await query(simulator, 'list_activities', body)).json.activities.map(({ id }) => id);
    assert.deepEqual(await list({}), made.slice(0, 10));
    assert.deepEqual(await list({ paginationOptions: { limit: '3', after: made[4] } }), made.slice(5, 8));
    assert.deepEqual(await list({ paginationOptions: { limit: '2', before: made[4] } }), made.slice(2, 4));
    const pending = made.filter((_, index) => (11 - index) % 3 === 0);
    assert.deepEqual(await list({ filterByStatus: ['ACTIVITY_STATUS_PENDING'] }), pending);
    assert.deepEqual(await list({ filterByType: ['ACTIVITY_TYPE_OAUTH'] }), []);
    assert.deepEqual(await list({ organizationId: subOrganization(1) }), []);
    assert.equal((await query(simulator, 'list_activities', { paginationOptions: { after: 'x' } })).status, 400);
  }),
);
