// Rounds of faults on a cluster of PostgreSQL servers and on the gateways that share its store, while a sender delivers
// events, callers submit and subscribers read. Afterwards the judge of histories checks that nothing acknowledged is
// lost, that upstream saw one body for each idempotency key, and that no timestamp was used twice.
//
// Each round has one fault. A short run has one round for each kind of fault. With STAMPGATE_LONG=1 the test has 300
// rounds, or STAMPGATE_ROUNDS, and a third of this number again with pools. STAMPGATE_STEPS=killPrimary uses only these
// faults, and STAMPGATE_SEED=... chooses another order.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { described } from './failures.mjs';
import { HANG_MS } from './harness.mjs';
import { seen } from './history/follower.mjs';
import { judge } from './history/judge.mjs';
import { logLines } from './log_lines.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { PROGRESS, Scene, Sender, emptySettingWhileCommitsWait } from './shared_log_scene.mjs';
import { fill, reasonToSkip } from './small_disk.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const LONG_ROUNDS = Number(process.env.STAMPGATE_ROUNDS ?? 300);
const GATEWAYS = 3;
/** Longer than each timeout of a gateway and of a server's session, of which the longest is 5 s. */
const LONG_PAUSE_MS = 6000;
/** How long a server runs at most after it has let COMMITs go. */
const EMPTY_MS = 1500;
/** How long a server that is no longer the primary runs beside the new one. */
const OLD_PRIMARY_MS = 2000;
/** Steps of a clock, of which upstream's signatures survive the short ones: webhooks.max_timestamp_age is 5 minutes. */
const SHORT_STEP_MS = 2 * 60_000;
const LONG_STEP_MS = 10 * 60_000;
const DISK_MEBIBYTES = LONG ? 1024 : 256;
/** Longer than a recovery from a disk that was full. */
const RECOVERY_MS = 5000;
/** Keeps the log of a server so short that it fits on the disk. */
const SMALL_LOG = ['wal_keep_size = 64MB', 'max_wal_size = 64MB'];
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
  async wakeOldPrimary({ cluster, sender }, pauseMs = LONG_PAUSE_MS) {
    cluster.primary.pause();
    await pause(pauseMs);
    const old = await cluster.failOver();
    old.continue();
    await Promise.all([pause(OLD_PRIMARY_MS), sender.progress()]);
    await old.kill();
    await sender.progress();
    await cluster.rewind(old);
  },

  /** As before, but no gateway has noticed anything when the old primary wakes, and each reaches both servers. */
  wakeOldPrimaryAtOnce: (scene) => FAULTS.wakeOldPrimary(scene, 0),

  /**
   * Somebody empties synchronous_standby_names while COMMITs wait, as a failover manager may do: the server then lets them
   * go, and is lost with the events that only it has.
   */
  async emptySetting({ cluster, random }) {
    await emptySettingWhileCommitsWait(cluster);
    // In one of two rounds, the setting is restored before the standbys follow again.
    if (random.below(2) === 0) await cluster.primary.set('synchronous_standby_names', cluster.synchronous);
    await pause(random.below(EMPTY_MS));
    await cluster.primary.kill();
    const old = await cluster.failOver();
    await cluster.rewind(old);
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

  /** The primary refuses transactions, or connections too, or it ends. */
  async fillDisk({ cluster, random, sender }) {
    const { primary } = cluster;
    const ballast = join(primary.disk, 'ballast');
    let ended = false;
    primary.ended.then(() => (ended = true));
    fill(ballast, 0);
    await until(() => sender.lastStatus === 503, 'a gateway refuses a delivery');
    // If no old file of the log can become the next one, the server ends. With several switches, the standbys could no
    // longer follow, because the server would keep too little of its log for them.
    await primary.sql('SELECT pg_switch_wal()').catch(() => {});
    await until(() => sender.lastStatus === 503, 'a gateway refuses a delivery');
    if (random.below(2) === 0) {
      rmSync(ballast);
      // If the disk was full during a recovery, the server can hang in it. Then only a kill helps.
      const accepts = () =>
        ended ||
        primary.sql('SELECT 1').then(
          () => true,
          () => false,
        );
      await until(accepts, 'the server has recovered or ended', RECOVERY_MS).catch(() => primary.kill());
      let goesOn = false;
      const restart = async () => {
        if (ended) await primary.start();
        ended = false;
        return goesOn;
      };
      const progress = sender.progress().then(() => (goesOn = true));
      await Promise.all([progress, until(restart, 'events are stored again')]);
    } else {
      await primary.kill();
      const old = await cluster.failOver();
      await sender.progress();
      rmSync(ballast);
      await cluster.rewind(old);
    }
  },

  /** The clock of a gateway steps. tests/machine steps it, as libfaketime does, but while the process runs. */
  async stepClock({ slots, random, sender }) {
    const slot = random.pick(slots);
    const steps = [SHORT_STEP_MS, -SHORT_STEP_MS, LONG_STEP_MS, -LONG_STEP_MS];
    while (steps.length > 0) {
      const [ms] = steps.splice(random.below(steps.length), 1);
      slot.machine.clockOffsetMs = ms;
      await Promise.all([slot.answers(Math.abs(ms) > SHORT_STEP_MS ? 503 : 200), sender.progress()]);
    }
    slot.machine.clockOffsetMs = 0;
    await Promise.all([slot.answers(200), sender.progress()]);
    // This process chooses no timestamp until its clock has passed those that it has chosen. The next one has another
    // lease.
    await slot.kill();
    await slot.start();
  },

  async killStandby({ cluster, random, sender }) {
    const standby = random.pick(cluster.standbys);
    await standby.kill();
    await sender.progress();
    await standby.start();
    await cluster.primary.hasStandby(standby);
  },
};

const noSmallDisk = reasonToSkip();
if (noSmallDisk) {
  test('the fault fillDisk', { skip: noSmallDisk });
  delete FAULTS.fillDisk;
}

/** The faults with which a short run tries pools between the gateways and the servers. */
const FAULTS_WITH_POOLS = ['killPrimary', 'wakeOldPrimaryAtOnce', 'emptySetting'];

/** The faults of all rounds: each kind once, in random order, and then again. */
function scheduleOf(random, kinds, rounds) {
  const schedule = [];
  while (schedule.length < rounds) {
    for (const left = [...kinds]; left.length > 0;) schedule.push(...left.splice(random.below(left.length), 1));
  }
  return schedule.slice(0, rounds);
}

/** The number of tries by their error or OK. */
function countsOf(attempts) {
  const counts = {};
  for (const { reason, code } of attempts) counts[reason ?? code] = (counts[reason ?? code] ?? 0) + 1;
  return counts;
}

const TIMEOUT = { timeout: (LONG ? 120 : 10) * HANG_MS };

/** Carries out the faults of a schedule one after another, and judges the history. */
async function playAll(t, random, schedule, options) {
  const disks = noSmallDisk ? {} : { placeOf: () => ({ diskMebibytes: DISK_MEBIBYTES }), settings: SMALL_LOG };
  const scene = await Scene.make(t, random, { size: 3, confirmations: 1, gateways: GATEWAYS, ...disks, ...options });
  scene.addWanderer();
  scene.addCallers(t);
  for (const kind of schedule) {
    await Promise.all([scene.sender.progress(), scene.submits()]);
    const began = performance.now();
    await scene.during(FAULTS[kind]);
    t.diagnostic(`${kind}: ${Math.round(performance.now() - began)} ms`);
  }
  await Promise.all([scene.sender.progress(), scene.submits()]);
  const history = await scene.end();
  t.diagnostic(`${history.log.length} events, answers: ${JSON.stringify(scene.sender.answers)}`);
  t.diagnostic(`${history.requests.length} submits, tries: ${JSON.stringify(countsOf(history.attempts))}`);
  assert.deepEqual(judge(history).slice(0, MAX_FINDINGS), []);
}

const CHOSEN = process.env.STAMPGATE_STEPS?.split(',');

test('gateways on a cluster lose nothing acknowledged, whichever process fails', TIMEOUT, async (t) => {
  const random = new Random(t);
  const kinds = CHOSEN ?? Object.keys(FAULTS);
  await playAll(t, random, scheduleOf(random, kinds, LONG ? LONG_ROUNDS : kinds.length), {});
});

test('nor with a pool in session mode between the gateways and each server', TIMEOUT, async (t) => {
  const random = new Random(t);
  const kinds = CHOSEN ?? (LONG ? Object.keys(FAULTS) : FAULTS_WITH_POOLS);
  const rounds = LONG ? Math.ceil(LONG_ROUNDS / 3) : kinds.length;
  await playAll(t, random, scheduleOf(random, kinds, rounds), { pooled: true });
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
  assert.ok(
    findings.some((finding) => finding.endsWith('which the log does not have')),
    findings.join('\n'),
  );

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
