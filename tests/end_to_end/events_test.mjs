// Tests subscriptions: where they start, when messages arrive, and the content of events.
import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { ORGANIZATION, subOrganization } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const { simulator, gateway } = await startStack({ after }, { events: true });

/** Subscribes to all events that are stored from now on. */
const fromNow = () => Subscriber.start(gateway);

/** The cursor at the end of the log. */
const endOfLog = async () => (await gateway.call('EventService/ListEvents', LATEST)).cursor;

async function deliverMany(count, event = {}) {
  const ids = [];
  for (let i = 0; i < count; i += 1) ids.push((await deliver(simulator, event)).eventId);
  return ids;
}

const timeOf = ({ seconds, nanos = 0 }) => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
const timestampOf = (time) => ({ seconds: String(time / 1_000_000_000n), nanos: Number(time % 1_000_000_000n) });

describe('a subscription', { timeout: HANG_MS }, () => {
  it('begins with a message that has the cursor of its start and no event', async () => {
    await deliverMany(2);
    const subscriber = await fromNow();
    assert.deepEqual(subscriber.first, { events: [], cursor: await endOfLog() });
    await subscriber.leave();
  });

  it('receives events that are stored later, in order, each once', async () => {
    const subscriber = await fromNow();
    const ids = await deliverMany(20);
    assert.deepEqual(idsOf(await subscriber.events(20)), ids);
    await subscriber.leave();
  });

  it('can start at the earliest event, at the latest event, or after a cursor', async () => {
    await deliverMany(3);
    const whole = await listAll(gateway);
    const fromEarliest = await Subscriber.start(gateway, EARLIEST);
    assert.deepEqual(await fromEarliest.events(whole.length), whole);
    await fromEarliest.leave();

    for (const at of [0, 1, whole.length - 2]) {
      const { cursor } = whole[at];
      const resumed = await Subscriber.start(gateway, { cursor });
      assert.equal(resumed.first.cursor, cursor);
      assert.deepEqual(await resumed.events(whole.length - 1 - at), whole.slice(at + 1));
      await resumed.leave();
    }

    const fromLatest = await Subscriber.start(gateway, LATEST);
    const [next] = await deliverMany(1);
    assert.deepEqual(idsOf(await fromLatest.events(1)), [next]);
    await fromLatest.leave();
  });

  it('can start at a time: with the first event that was stored at this time or later', async () => {
    const ids = await deliverMany(5);
    const events = (await listAll(gateway)).filter(({ event_id }) => ids.includes(event_id));
    const [, , third] = events;
    for (const [time, expected] of [
      [timeOf(third.commit_time), events.slice(2)],
      [timeOf(third.commit_time) + 1n, events.slice(3)],
      [timeOf(third.commit_time) - 1n, events.slice(2)],
    ]) {
      const subscriber = await Subscriber.start(gateway, { time: timestampOf(time) });
      assert.deepEqual(await subscriber.events(expected.length), expected);
      await subscriber.leave();
      const listed = await listAll(gateway, { time: timestampOf(time) });
      assert.deepEqual(listed, expected);
    }
  });

  it('can start at any valid time', async () => {
    const whole = idsOf(await listAll(gateway));
    for (const [time, expected] of [
      [{}, whole],
      [{ seconds: '-62135596800' }, whole],
      [{ seconds: '253402300799', nanos: 999_999_999 }, []],
    ]) {
      assert.deepEqual(idsOf(await listAll(gateway, { time })), expected, JSON.stringify(time));
    }
  });

  it('returns the same events to many concurrent subscribers', async () => {
    const subscribers = await Promise.all(Array.from({ length: 20 }, fromNow));
    const load = simulator.webhooks.sendMany({ count: 200, concurrency: 8 });
    const seen = await Promise.all(subscribers.map((subscriber) => subscriber.events(200)));
    const { acknowledged } = await load.done;
    const logged = (await listAll(gateway)).slice(-200);
    assert.deepEqual(idsOf(logged).sort(), acknowledged.sort());
    for (const events of seen) assert.deepEqual(events, logged);
    await Promise.all(subscribers.map((subscriber) => subscriber.leave()));
  });

  it('does not wait for another subscriber that does not read', async () => {
    const idle = await fromNow();
    const reader = await fromNow();
    const body = JSON.stringify({ type: 'large', padding: 'x'.repeat(500_000) });
    const ids = await deliverMany(12, { body });
    assert.deepEqual(idsOf(await reader.events(12)), ids);
    assert.deepEqual(idsOf(await idle.events(12)), ids);
    await Promise.all([idle.leave(), reader.leave()]);
  });
});

describe('a heartbeat', { timeout: HANG_MS }, async () => {
  const stack = await startStack({ after }, { events: { events: { heartbeat_interval: '100ms' } } });

  it('is sent if there is no event to send, and repeats the cursor', async () => {
    const subscriber = await Subscriber.start(stack.gateway);
    for (let i = 0; i < 3; i += 1) assert.deepEqual(await subscriber.message(), subscriber.first);
    await deliver(stack.simulator);
    assert.equal((await subscriber.events(1)).length, 1);
    const { cursor } = await subscriber.message();
    assert.notEqual(cursor, subscriber.first.cursor);
    await subscriber.leave();
  });

  it('has a cursor after the events that the filter excludes', async () => {
    const filter = { types: ['nothing is of this type'] };
    const subscriber = await Subscriber.start(stack.gateway, { ...LATEST, filter });
    for (let i = 0; i < 3; i += 1) await deliver(stack.simulator);
    const { cursor: end } = await stack.gateway.call('EventService/ListEvents', LATEST);
    for (let cursor; cursor !== end;) {
      const message = await subscriber.message();
      assert.deepEqual(message.events, []);
      cursor = message.cursor;
    }
    await subscriber.leave();
    const resumed = await Subscriber.start(stack.gateway, { cursor: end });
    const { eventId } = await deliver(stack.simulator);
    assert.deepEqual(idsOf(await resumed.events(1)), [eventId]);
    await resumed.leave();
  });
});

describe('an event', { timeout: HANG_MS }, () => {
  /** The expected event for a delivery. `said` are the expected fields from the body. */
  function eventOf({ eventId, body, headers }, { cursor, commit_time }, said) {
    const header = (name) => headers.find(([each]) => each === `X-Service-${name}`)[1];
    const bytes = Buffer.from(body);
    return {
      cursor,
      event_id: eventId,
      commit_time,
      signature: {
        key_id: header('Signature-Key-Id'),
        timestamp_ms: header('Timestamp'),
        timestamp: header('Timestamp'),
        signature: Buffer.from(header('Signature'), 'hex'),
      },
      headers: headers.filter(([name]) => name.startsWith('X-')).map(([name, value]) => ({ name, value })),
      body: bytes,
      body_size_bytes: String(bytes.length),
      body_sha256: createHash('sha256').update(bytes).digest(),
      ...said,
    };
  }

  /**
   * Delivers an event. Checks that a subscription and all other methods return exactly the expected event and times.
   */
  async function checkTold(send, said) {
    const subscriber = await fromNow();
    const started = BigInt(Date.now()) * 1_000_000n;
    const delivered = await send();
    assert.equal(delivered.status, 200);
    const [event] = await subscriber.events(1);
    const stored = timeOf(event.commit_time);
    assert.ok(started <= stored && stored <= BigInt(Date.now() + 1) * 1_000_000n, `${started} ${stored}`);
    assert.deepEqual(event, eventOf(delivered, event, said(event)));
    const { event: got } = await gateway.call('EventService/GetEvent', { event_id: event.event_id });
    assert.deepEqual(got, event);
    const { events } = await gateway.call('EventService/ListEvents', { cursor: subscriber.first.cursor });
    assert.deepEqual(events, [event]);
    await subscriber.leave();
  }

  it("of an activity that a call caused has the activity of the call's response", async () => {
    let activity;
    const createPolicies = async () => {
      const policies = [{ policy_name: 'told', effect: 'EFFECT_DENY', condition: 'true', notes: 'ä "quoted" \u2028' }];
      const request = { organization_id: ORGANIZATION, parameters: { policies }, generate_app_proofs: true };
      ({ activity } = await gateway.call('PolicyService/CreatePolicies', request));
      await simulator.webhooks.waitFor({ waiting: 0 });
      const record = simulator.webhooks.deliveries().at(-1);
      return { ...record, ...record.attempts.at(-1) };
    };
    await checkTold(createPolicies, () => {
      assert.ok(activity.result.create_policies_result.policy_ids.length > 0);
      assert.ok(activity.app_proofs.length > 0);
      return { type: 'ACTIVITY_UPDATES', organization_id: ORGANIZATION, activity };
    });
  });

  for (const [status, failure] of [
    ['ACTIVITY_STATUS_CONSENSUS_NEEDED', undefined],
    ['ACTIVITY_STATUS_FAILED', { code: 3, message: 'it failed', details: [] }],
  ]) {
    it(`of an activity with ${status} has the activity too`, async () => {
      const subscriber = await fromNow();
      simulator.addFaults([{ kind: 'activityStatus', status, result: 'null', failure }]);
      const { activity } = await gateway.call('OrganizationService/UpdateOrganizationName', {
        organization_id: ORGANIZATION,
        parameters: { organization_name: 'told' },
      });
      const [event] = await subscriber.events(1);
      assert.equal(activity.status, status);
      assert.deepEqual(event.activity, activity);
      await subscriber.leave();
    });
  }

  const child = subOrganization(1);
  for (const finality of ['confirmed', 'finalized']) {
    for (const numbers of ['number', 'string']) {
      it(`of a ${finality} balance, with numbers as JSON ${numbers}, has all values`, async () => {
        const event = { organizationId: child, finality, numbers, msg: { idempotencyKey: 'once' } };
        const unrecognized = { number: { '/msg/block/number': '21000000' }, string: { '/msg/asset/decimals': '"6"' } };
        await checkTold(
          () => deliver(simulator, event, 'sendBalance'),
          () => ({
            type: `BALANCE_${finality.toUpperCase()}_UPDATES`,
            organization_id: child,
            parent_organization_id: ORGANIZATION,
            balance_update: {
              type: `balances:${finality}`,
              organization_id: child,
              parent_organization_id: ORGANIZATION,
              msg: {
                operation: 'BALANCE_OPERATION_DEPOSIT',
                caip2: 'eip155:8453',
                tx_hash: `0x${'01'.repeat(32)}`,
                address: `0x${'02'.repeat(20)}`,
                idempotency_key: 'once',
                asset: {
                  symbol: 'USDC',
                  name: 'USD Coin',
                  decimals: 6,
                  caip19: `eip155:8453/erc20:0x${'03'.repeat(20)}`,
                  amount: '1000000',
                },
                block: { number: '21000000', hash: `0x${'04'.repeat(32)}`, timestamp: '"2026-01-01T00:00:00Z"' },
              },
            },
            unrecognized: unrecognized[numbers],
          }),
        );
      });
    }
  }

  const transaction = {
    send_transaction_status_id: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000071',
    activity_id: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000072',
    caip2: 'eip155:8453',
    idempotency_key: 'once',
    timestamp_seconds: 1_755_500_000,
  };
  for (const [status, more] of [
    ['BROADCASTING', {}],
    ['INCLUDED', { tx_hash: `0x${'01'.repeat(32)}` }],
    ['FAILED', { error: '"execution reverted"' }],
  ]) {
    it(`of a transaction that is ${status} has all values`, async () => {
      const event = { organizationId: child, status, msg: { idempotencyKey: 'once', timestamp: 1_755_500_000 } };
      const about = { organization_id: child, parent_organization_id: ORGANIZATION };
      await checkTold(
        () => deliver(simulator, event, 'sendTransaction'),
        () => ({
          type: 'SEND_TRANSACTION_STATUS_UPDATES',
          ...about,
          transaction_status_update: {
            type: 'transaction:status',
            ...about,
            msg: { ...transaction, status: `TRANSACTION_STATUS_${status}`, ...more },
          },
        }),
      );
    });
  }

  it('has in `unrecognized` the values that its message cannot hold, as JSON text of the body', async () => {
    const body = '{"type":"transaction:status","new":{"deep":[1e400]},"msg":{"status":"LATER","timestamp":"17"}}';
    await checkTold(
      () => deliver(simulator, { body }),
      () => ({
        type: 'SEND_TRANSACTION_STATUS_UPDATES',
        transaction_status_update: { type: 'transaction:status', msg: { timestamp_seconds: 17 } },
        unrecognized: { '/new': '{"deep":[1e400]}', '/msg/status': '"LATER"', '/msg/timestamp': '"17"' },
      }),
    );
  });

  for (const [title, body, said] of [
    ['of an unknown type', '{"type":"orders:filled","organizationId":"o"}', ['orders:filled', 'o']],
    ['of a type that resembles a known one', '{"type":"balances:CONFIRMED"}', ['balances:CONFIRMED']],
    ['that names no type and no organization', '{}', []],
    [
      'whose type and organizations are not strings',
      '{"type":1,"organizationId":["o"],"parentOrganizationId":null}',
      [],
    ],
    ['with white space around the body', ' \n{"type" : "spaced",\t"organizationId": "o"}\r\n ', ['spaced', 'o']],
  ]) {
    it(`${title} has its raw body and no message`, async () => {
      const [type, organization_id] = said;
      await checkTold(
        () => deliver(simulator, { body }),
        () => ({
          ...(type && { type }),
          ...(organization_id && { organization_id }),
        }),
      );
    });
  }

  it('has all data that a subscriber needs to verify the signature', async () => {
    await deliver(simulator, { body: ' {"ä":"\\u0000 \u2028",  "number":1.0e+00}\r\n' });
    await deliver(simulator, { faults: [{ kind: 'lowerCaseNames' }] });
    await deliver(simulator, { faults: [{ kind: 'upperCaseHex' }] });
    await deliver(simulator, { faults: [{ kind: 'timestamp', value: `000${Date.now()}` }] });
    await deliver(simulator, { body: 'no JSON' });
    const { keys } = await gateway.call('WebhookService/GetWebhookKeySet', {});
    const events = await listAll(gateway);
    assert.ok(events.length > 3);
    for (const { event_id, body, signature } of events) {
      const { x } = keys.find(({ kid }) => kid === signature.key_id);
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      const prefix = `v1.ed25519.${signature.key_id}.${signature.timestamp}.${event_id}.`;
      assert.ok(verify(null, Buffer.concat([Buffer.from(prefix), body]), key, signature.signature), event_id);
    }
  });
});
