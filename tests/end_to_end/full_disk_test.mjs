// A full disk: the gateway answers deliveries with 503 until the disk has space, loses no acknowledged event, and still
// serves reads.
//
// The event log is on a small filesystem in the gateway's own mount namespace. With STAMPGATE_LONG=1 the test uses ten
// such disks instead of one. STAMPGATE_SEED=... chooses other sizes of the free space and the events.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { prepareEventStack } from './event_stack.mjs';
import { Gateway, HANG_MS } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { fill, reasonToSkip, smallDisk } from './small_disk.mjs';
import { Subscriber, EARLIEST, idsOf, listAll } from './subscriber.mjs';

const CYCLES = 12;
/** Starts a gateway whose log is on a disk of this size. `disk` is the disk's path for the test. */
async function startOnSmallDisk(t, mebibytes, options) {
  const stack = await prepareEventStack(t, options);
  const { inside, command, seenFrom } = smallDisk(stack.folder, mebibytes);
  const config = { ...stack.config, events: { ...stack.config.events, file: join(inside, 'events.db') } };
  stack.gateway = await Gateway.start(config, { folder: stack.folder, command });
  stack.disk = seenFrom(stack.gateway);
  const { webhooks } = stack.simulator;
  webhooks.change({ retryMs: 5, maxRetryMs: 20 });
  webhooks.setEndpoints(null, [stack.gateway.webhookUrl]);
  return stack;
}

const skip = reasonToSkip();

test(
  'the event log fills its disk, and stores events again when the disk has space',
  { skip, timeout: HANG_MS },
  async (t) => {
    const { simulator, gateway, disk } = await startOnSmallDisk(t, 3, { config: { admin: ADMIN } });
    const failing = async () => (await metricsOf(gateway)).get('stampgate_event_log_failing');
    assert.equal(await failing(), 0);
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(1 << 20));

    const subscriber = await Subscriber.start(gateway);
    const load = simulator.webhooks.sendMany({ count: 100_000, concurrency: 8, bodyBytes: 4000 });
    await until(() => load.tally.answers[503] >= 50, 'the disk is full');
    const before = [...load.acknowledged.keys()];
    assert.ok(before.length > 50, `${before.length}`);
    // The log and a metric state the cause.
    await until(async () => (await failing()) === 1, 'the metric of the event log is 1');
    const cause = /^the event log cannot store: .*disk is full/;
    assert.match((await logLines(gateway, 1, 'event_log_not_written'))[0].message, /disk is full/);
    const causes = (await logLines(gateway, 1, 'delivery_not_stored')).map(({ message }) => message);
    assert.ok(
      causes.some((message) => cause.test(message)),
      causes[0],
    );
    // Reads the whole log while the disk is full. The gateway may still store a small event meanwhile.
    const listed = new Set(idsOf(await listAll(gateway)));
    assert.deepEqual(
      before.filter((id) => !listed.has(id)),
      [],
    );
    await subscriber.events(before.length);
    assert.equal((await gateway.call('EventService/GetEvent', { event_id: before[0] })).event.event_id, before[0]);

    rmSync(ballast);
    await until(() => load.acknowledged.size > before.length + 5, 'events are stored again');
    const { acknowledged, answers, refused } = await load.stop();
    await until(async () => (await failing()) === 0, 'the metric of the event log is 0');
    await logLines(gateway, 1, 'event_log_works_again');
    assert.deepEqual(refused, {});
    assert.deepEqual(Object.keys(answers), ['200', '503']);
    assert.deepEqual(idsOf(await listAll(gateway)).sort(), acknowledged.sort());
    t.diagnostic(`${before.length} events, full, then ${acknowledged.length}; answers: ${JSON.stringify(answers)}`);
  },
);

test('other files fill the disk, several times', { skip, timeout: LONG ? 10 * HANG_MS : HANG_MS }, async (t) => {
  const random = new Random(t);
  for (let disks = LONG ? 10 : 1; disks > 0; --disks) await fillAgainAndAgain(t, random);
});

async function fillAgainAndAgain(t, random) {
  // Retention limits the stored events, and the disk has space for twice the write-ahead log, which grows to 8 MiB at
  // most. So the event log itself never fills the disk.
  const { simulator, gateway, disk } = await startOnSmallDisk(t, 24, { events: { retention_bytes: 1 << 20 } });
  const { webhooks } = simulator;
  const idsOfCycle = (cycle) => Array.from({ length: 40 }, (_, index) => `cycle-${cycle}-${index}`);
  const subscriber = await Subscriber.start(gateway, EARLIEST);
  let full = 0;
  for (let cycle = 0; cycle < CYCLES; ++cycle) {
    const ballast = join(disk, 'ballast');
    fill(ballast, random.below(1 << 16));
    const ids = idsOfCycle(cycle);
    const load = webhooks.sendMany({ ids, concurrency: 4, bodyBytes: 200 + random.below(8000) });
    // The disk may have space for all events.
    await until(() => load.tally.answers[503] > 0 || load.isDone, 'the disk is full');
    full += load.tally.answers[503] > 0 ? 1 : 0;
    rmSync(ballast);
    const { acknowledged, refused } = await load.done;
    assert.deepEqual(refused, {});
    assert.deepEqual(acknowledged.sort(), ids.sort());
    // Each event occurs once, and none is from an earlier cycle.
    assert.deepEqual(idsOf(await subscriber.events(ids.length)).sort(), ids);
    assert.deepEqual(subscriber.left(), []);
  }
  // The write-ahead log keeps its size. Once this log is large enough, storing an event needs no more space.
  assert.ok(full >= 3, `the disk was full only ${full} times`);
  t.diagnostic(`${full} of ${CYCLES} times full`);
}
