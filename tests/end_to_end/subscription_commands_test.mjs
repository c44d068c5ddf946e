// The commands of `stampgate subscriptions`: an operator looks at the subscriptions of a running gateway, and mends them.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { subOrganization } from '../simulator/testing.mjs';
import { makeAuthority } from './certificates.mjs';
import { Consumer, stateOf, subscriptionConfig } from './consumer.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS, run, scratch } from './harness.mjs';
import { reconfigure } from './policy_callers.mjs';
import { until } from './processes.mjs';

const GRANTS = [{ classes: ['events', 'dangerous'], all_organizations: true }];

/** A config whose caller "loopback" may use the subscription and the dangerous methods. */
const config = (settings) => ({
  ...subscriptionConfig(settings),
  callers: [{ name: 'loopback', loopback: true, grants: GRANTS }],
});

/** Runs a command of `stampgate subscriptions`. Resolves to its exit status, the cells of its lines, and its errors. */
async function subscriptions(args, gateway) {
  const { status, stdout, stderr } = await run(['subscriptions', ...args, ...gateway]);
  return {
    status,
    rows: stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(/ {2,}/)),
    stdout,
    stderr,
  };
}

describe('an operator', { timeout: 2 * HANG_MS }, async () => {
  const stack = await startEventStack({ after }, { config: config() });
  const ask = (...args) => subscriptions(args, ['--gateway', stack.gateway.address]);
  const send = (count) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => deliver(stack.simulator, { organizationId: subOrganization(i) })),
    );

  it('lists the subscriptions and their states', async () => {
    await send(3);
    const { status, rows, stderr } = await ask('list');
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(rows[0], ['name', 'events_behind', 'oldest_unsettled_time', 'unsettled', 'parked', 'consumers']);
    const [name, behind, oldest, ...counts] = rows[1];
    assert.deepEqual([name, behind, ...counts], ['payouts', '3', '0', '0', '0']);
    assert.ok(Math.abs(Date.parse(oldest) - Date.now()) < HANG_MS, oldest);

    const shown = Object.fromEntries((await ask('show', 'payouts')).rows);
    assert.equal(shown.name, 'payouts');
    assert.equal(shown.events_behind, '3');
    assert.equal(shown.cursor, (await stateOf(stack.gateway)).cursor);
  });

  it('lists parked events, returns some of them, and removes the others', async () => {
    const consumer = await Consumer.start(stack.gateway);
    const deliveries = await consumer.deliveries(3);
    await consumer.settle(deliveries, 'PARK', { park_reason: 'no such account \u001b[2J' });
    const parked = await ask('parked', 'payouts');
    assert.equal(parked.status, 0);
    assert.ok(!parked.stdout.includes('\u001b'), 'a reason of a consumer cannot control the terminal');
    const [columns, ...rows] = parked.rows;
    assert.deepEqual(columns, ['cursor', 'event_id', 'type', 'delivery_count', 'park_time', 'reason']);
    assert.deepEqual(
      rows.map(([cursor, id, type, count]) => [cursor, id, type, count]).sort(),
      deliveries.map(({ event }) => [event.cursor, event.event_id, event.type, '1']).sort(),
    );
    for (const row of rows) assert.equal(row[5], 'no such account \\033[2J');

    const [first] = rows[0];
    const returned = await ask('retry', 'payouts', first);
    assert.deepEqual([returned.status, returned.stdout], [0, 'returned to the subscription: 1\n']);
    const [again] = await consumer.deliveries(1);
    assert.equal(again.event.cursor, first);
    assert.equal(again.retried_after_parking, true);
    await consumer.settle([again]);
    const settled = await ask('retry', 'payouts', first);
    assert.equal(settled.status, 3);
    assert.equal(settled.stdout, `not parked: ${first}\nreturned to the subscription: 0\n`);

    const removed = await ask('skip', 'payouts', 'all');
    assert.deepEqual([removed.status, removed.stdout], [0, 'removed from the subscription: 2\n']);
    assert.equal((await ask('parked', 'payouts')).rows.length, 1);
    await consumer.leave();
  });

  it('moves a subscription to each kind of place', async () => {
    const behind = async (place) => {
      const { status, rows, stderr } = await ask('seek', 'payouts', '--to', place);
      assert.equal(status, 0, stderr);
      return Object.fromEntries(rows);
    };
    const { cursor } = await behind('earliest');
    assert.equal((await behind('latest')).events_behind, '0');
    assert.equal((await behind(cursor)).events_behind, '3');
    assert.equal((await behind('2000-01-01T00:00:00Z')).events_behind, '3');
    assert.equal((await behind('2100-01-01T00:00:00.5+02:00')).events_behind, '0');
    const refused = await ask('seek', 'payouts', '--to', 'yesterday');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^INVALID_ARGUMENT: /);
  });

  it('deletes a subscription only when the config does not declare it any more', async () => {
    const declared = await ask('delete', 'payouts');
    assert.equal(declared.status, 1);
    assert.match(declared.stderr, /^FAILED_PRECONDITION: the gateway's config declares the subscription payouts\n$/);

    await reconfigure(stack.gateway, { subscriptions: [] });
    await until(async () => (await ask('list')).stdout.includes('payouts: not declared'), 'the gateway has applied it');
    assert.equal((await ask('show', 'payouts')).status, 1);
    const deleted = await ask('delete', 'payouts');
    assert.deepEqual([deleted.status, deleted.stdout], [0, 'deleted: payouts\n']);
    assert.ok(!(await ask('list')).stdout.includes('payouts'));
    const again = await ask('delete', 'payouts');
    assert.equal(again.status, 1);
    assert.match(again.stderr, /^NOT_FOUND: the gateway keeps no state of a subscription payouts\n$/);
  });

  it('learns that a name or the gateway is wrong', async () => {
    const unknown = await ask('show', 'payout"s');
    assert.equal(unknown.status, 1);
    assert.match(unknown.stderr, /^NOT_FOUND: .* no subscription payout"s for caller loopback\n$/);
    const unreachable = await subscriptions(['list'], ['--gateway', '127.0.0.1:1']);
    assert.equal(unreachable.status, 1);
    assert.match(unreachable.stderr, /^UNAVAILABLE: /);
  });
});

describe('after a restart, an operator', { timeout: HANG_MS }, async () => {
  it('still sees and deletes what the config has lost', async (t) => {
    const stack = await startEventStack(t, { config: config() });
    stack.config.subscriptions = [];
    await stack.restart('SIGKILL');
    const gateway = ['--gateway', stack.gateway.address];
    assert.match((await subscriptions(['list'], gateway)).stdout, /^payouts: not declared/m);
    assert.equal((await subscriptions(['delete', 'payouts'], gateway)).status, 0);
    stack.config.subscriptions = subscriptionConfig().subscriptions;
    await stack.restart('SIGTERM');
    assert.equal((await subscriptions(['list'], ['--gateway', stack.gateway.address])).rows[1][0], 'payouts');
  });
});

it('an operator shows a certificate and a token', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const authority = makeAuthority(folder, 'authority');
  const put = (name, content) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const server = authority.issue();
  const client = authority.issue({ name: 'DNS:ops.example', usage: 'clientAuth' });
  const token = randomBytes(32).toString('hex');
  const stack = await startEventStack(t, {
    folder,
    config: {
      ...subscriptionConfig({ callers: ['operator'] }),
      tls: {
        certificate_file: put('server.pem', server.cert),
        private_key_file: put('server.key', server.key),
        client_ca_file: authority.file,
      },
      callers: [
        {
          name: 'operator',
          dns_names: ['ops.example'],
          token_sha256: [createHash('sha256').update(token).digest('hex')],
          grants: GRANTS,
        },
      ],
    },
  });
  const options = ['--gateway', stack.gateway.address, '--ca', authority.file];
  options.push('--certificate', put('ops.pem', client.cert), '--key', put('ops.key', client.key));
  const known = await run(['subscriptions', 'list', ...options, '--token', put('token', `${token}\n`)]);
  assert.equal(known.status, 0, known.stderr);
  assert.match(known.stdout, /^payouts /m);
  const stranger = await run(['subscriptions', 'list', ...options, '--token', put('other', 'another')]);
  assert.equal(stranger.status, 1);
  assert.match(stranger.stderr, /^UNAUTHENTICATED: /);
});
