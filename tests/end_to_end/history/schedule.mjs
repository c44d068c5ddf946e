// Makes the schedule of a round from the seed: the faults, and when they happen.

/** Every kind of step, with its random options. A round contains each requested kind at least once. */
export const STEPS = {
  /** SIGKILL, and a new process. */
  kill: (random) => ({ clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** SIGTERM: the process drains. */
  terminate: (random) => ({ clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** SIGSTOP, and SIGCONT after a while. */
  pause: (random) => ({ ms: 20 + random.below(300) }),
  /** The wall clock steps forward or back. */
  clock: (random) => ({ ms: stepMs(random) }),
  /** A sync of the event log fails: the process ends by itself, and a new one is started. */
  logSync: (random) => failingSync(random),
  /** A sync of the call store fails: the process ends by itself, and a new one is started. */
  callSync: (random) => failingSync(random),
  /** Syncs of the audit log fail: the gateway refuses calls until a sync succeeds. */
  auditSync: (random) => ({ skip: random.below(6), count: 1 + random.below(3), keep: random.below(3) / 2 }),
  /** The power fails: the process ends, and any part of the unsynced writes is lost. */
  powerCut: (random) => ({ ...cut(random), clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** Upstream holds some requests until the gateway gives up, the process is killed, or upstream answers. */
  upstreamHang: (random) => ({
    count: 1 + random.below(4),
    outlasts: random.below(2) === 0,
    answers: random.below(2) === 0,
  }),
  /** Upstream closes connections without an answer, some before it has read the request and some after. */
  upstreamReset: (random) => ({ count: 1 + random.below(4), reads: random.below(2) === 0 }),
  /** Syncs hang. Then they continue, or the process is killed, or the power is cut. Or the process is killed, the syncs
   *  of the next process hang too, and the power is cut. */
  syncHang: (random) => ({
    match: random.pick(['', 'events', 'audit']),
    skip: random.below(5),
    then: random.pick(['goesOn', 'killed', 'cut', 'cut', 'cutAgain']),
    ms: random.below(200),
    ...cut(random),
  }),
  /** For a while, writes that make a file larger fail. */
  fullDisk: (random) => ({ freeBytes: random.below(20_000) }),
};

const failingSync = (random) => ({ skip: random.below(6), keep: random.below(3) / 2, thenCut: random.below(2) === 0 });

const cut = (random) => ({ pieceBytes: random.pick([512, 4096]), keep: random.below(5) / 4 });

/** A step of the clock, up to two minutes. */
const stepMs = (random) => random.pick([-1, 1]) * random.pick([1, 10, 45, 120]) * (500 + random.below(500));

/**
 * @param {import('../random.mjs').Random} random
 * @param {string[]} kinds the kinds of steps, each of which occurs at least once
 * @param {number} more the number of further steps, of random kinds
 * @param {Record<string, (random: import('../random.mjs').Random) => object>} [steps] every kind, with its random
 *     options
 * @returns {{kind: string, progress: number}[]} the steps, each with its options. `progress` is the number of events
 *     and submits that are answered before the step
 */
export function makeSchedule(random, kinds, more, steps = STEPS) {
  const chosen = [...kinds];
  for (let again = 0; again < more; ++again) chosen.push(random.pick(kinds));
  const schedule = [];
  while (chosen.length > 0) {
    const [kind] = chosen.splice(random.below(chosen.length), 1);
    // One step in three follows without a delay.
    const progress = Math.max(0, random.below(60) - 20);
    schedule.push({ kind, progress, ...steps[kind](random) });
    // Some faults are visible only after a certain other fault.
    const { thenCut, outlasts, answers } = schedule.at(-1);
    if (thenCut) schedule.push({ kind: 'powerCut', progress: random.below(40), clockMs: 0, ...cut(random) });
    if (outlasts && answers) schedule.push({ kind: 'terminate', progress: 0, clockMs: 0 });
  }
  return schedule;
}
