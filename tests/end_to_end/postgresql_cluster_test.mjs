// Rounds of faults on a cluster of PostgreSQL servers and on the gateways that share its event log, while a sender
// delivers events and subscribers read. Afterwards the judge of histories checks that nothing acknowledged is lost.
//
// Each round has one fault. With STAMPGATE_LONG=1 the test uses 300 rounds instead of 8. STAMPGATE_STEPS=killPrimary
// uses only these faults, and STAMPGATE_SEED=... chooses another order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { described } from './failures.mjs';
import { HANG_MS } from './harness.mjs';
import { seen } from './history/follower.mjs';
import { judge } from './history/judge.mjs';
import { logLines } from './log_lines.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { PROGRESS, Scene, Sender } from './shared_log_scene.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const ROUNDS = LONG ? 300 : 8;
const GATEWAYS = 3;
/** Longer than each timeout of a gateway and of a server's session. */
const LONG_PAUSE_MS = 7000;
/** The maximum number of printed findings. One fault usually causes several. */
const MAX_FINDINGS = 20;

const FAULTS = {
  async killGateway({ slots, random, sender }) {
    const slot = random.pick(slots);
    await slot.kill();
    await sender.progress();
    await slot.start();
  },

  async pauseGateway({ slots, random, sender }) {
    const { child } = random.pick(slots).up;
    child.kill('SIGSTOP');
    await Promise.all([pause(LONG_PAUSE_MS), sender.progress()]);
    child.kill('SIGCONT');
  },

  /** The network between a gateway and all servers. */
  async cutOffGateway({ slots, random, sender }) {
    const { relays } = random.pick(slots);
    relays.forEach((relay) => relay.hang());
    await Promise.all([pause(LONG_PAUSE_MS), sender.progress()]);
    relays.forEach((relay) => relay.resume());
    await sender.progress();
  },

  /** The gateways do not know whether their transactions have taken effect. */
  async cutCommits({ slots, sender }) {
    const relays = slots.flatMap((slot) => slot.relays);
    relays.forEach((relay) => relay.cutCommits(5));
    await until(() => relays.some(({ cutsLeft }) => cutsLeft === 0), 'transactions of a gateway were cut');
    relays.forEach((relay) => relay.cutCommits(0));
    await sender.progress();
  },

  /** The old primary wakes, and nobody has told it that it is one no more. It cannot commit, because no standby follows. */
  async wakeOldPrimary({ cluster, sender }) {
    cluster.primary.pause();
    await pause(LONG_PAUSE_MS);
    const old = await cluster.failOver();
    old.continue();
    await Promise.all([pause(LONG_PAUSE_MS), sender.progress()]);
    await old.kill();
    await sender.progress();
    await cluster.rejoin(old);
  },

  async killPrimary({ cluster, sender }) {
    await cluster.primary.kill();
    const old = await cluster.failOver();
    await sender.progress();
    await cluster.rejoin(old);
  },

  /** Among the servers that a gateway tries before the new primary is one that accepts connections and hangs. */
  async pausePrimary({ cluster, sender }) {
    cluster.primary.pause();
    await pause(LONG_PAUSE_MS);
    const old = await cluster.failOver();
    await sender.progress();
    await old.kill();
    await cluster.rejoin(old);
  },

  async killStandby({ cluster, random, sender }) {
    const standby = random.pick(cluster.standbys);
    await standby.kill();
    await sender.progress();
    await standby.start();
    await cluster.primary.hasStandby(standby);
  },
};

/** The faults of all rounds: each kind once, in random order, and then again. */
function scheduleOf(random, kinds) {
  const schedule = [];
  while (schedule.length < ROUNDS) {
    for (const left = [...kinds]; left.length > 0; ) schedule.push(...left.splice(random.below(left.length), 1));
  }
  return schedule.slice(0, ROUNDS);
}

const TIMEOUT = { timeout: (LONG ? 120 : 4) * HANG_MS };

test('gateways on a cluster lose nothing acknowledged, whichever process fails', TIMEOUT, async (t) => {
  const random = new Random(t);
  const schedule = scheduleOf(random, process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(FAULTS));
  const scene = await Scene.make(t, random, { size: 3, confirmations: 1, gateways: GATEWAYS });
  scene.addWanderer();
  for (const kind of schedule) {
    await scene.sender.progress();
    const began = performance.now();
    await FAULTS[kind](scene);
    await scene.cluster.isLevel();
    t.diagnostic(`${kind}: ${Math.round(performance.now() - began)} ms`);
  }
  await scene.sender.progress();
  const history = await scene.end();
  t.diagnostic(`${history.log.length} events, answers: ${JSON.stringify(scene.sender.answers)}`);
  assert.deepEqual(judge(history).slice(0, MAX_FINDINGS), []);
});

test('the judge finds the events that a failover without a synchronous standby loses', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), { size: 2, confirmations: 0, gateways: 1 });
  const { cluster, sender, followers } = scene;
  const [{ up: gateway }] = scene.slots;
  const [standby] = cluster.standbys;
  await sender.progress();
  await standby.kill();
  await sender.progress();
  await sender.stop();
  const before = idsOf(await listAll(gateway));
  const { cursor } = await gateway.call('EventService/ListEvents', { end: 'LOG_END_LATEST' });
  await until(() => followers[0].events.length === before.length, 'the subscriber has the log');

  await cluster.primary.kill();
  await standby.start();
  await cluster.failOver();
  const [{ had, latest }] = await logLines(gateway, 1, 'events_taken_back');
  assert.equal(had, before.length);
  assert.ok(latest < had);
  await until(() => followers[0].isOver, 'the subscription ends');
  const events = await listAll(gateway);
  assert.deepEqual(idsOf(events), before.slice(0, latest));

  const findings = judge(scene.history(events.map(seen)));
  for (const id of before.slice(latest)) {
    assert.ok(findings.includes(`event ${id} was acknowledged and is not in the log`), findings.join('\n'));
  }
  const ended = 'subscriber of gateway 0: its call ended with DATA_LOSS CURSOR_AHEAD_OF_LOG';
  assert.ok(findings.includes(ended), findings.join('\n'));
  assert.ok(findings.some((finding) => finding.endsWith('which the log does not have')), findings.join('\n'));

  /** Checks that the gateway refuses the cursor of the lost events. */
  const refuses = async () => {
    const failures = [
      described(await gateway.refusal('EventService/ListEvents', { cursor })),
      await new Subscriber(gateway, { cursor }).failure(),
    ];
    for (const { code, reason } of failures) assert.deepEqual([code, reason], ['DATA_LOSS', 'CURSOR_AHEAD_OF_LOG']);
  };
  await refuses();
  // The log then has other events at these positions.
  scene.sender = new Sender(scene.stack.simulator, scene.random, scene.slots, 'new_');
  await scene.sender.progress(had - latest + PROGRESS);
  await scene.sender.stop();
  await refuses();
  assert.ok((await listAll(gateway, EARLIEST)).length > had);
});
