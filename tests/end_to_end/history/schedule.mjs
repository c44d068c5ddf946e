// What happens to a gateway in a round, and when: all of it from the seed.

/** Every kind of step, and its options. A round has each kind that its test asks for at least once. */
export const STEPS = {
  /** SIGKILL, and a new process. */
  kill: (random) => ({ clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** SIGTERM: the process drains. */
  terminate: (random) => ({ clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** SIGSTOP for a while. */
  pause: (random) => ({ ms: 20 + random.below(300) }),
  /** The wall clock goes forward or back. */
  clock: (random) => ({ ms: stepMs(random) }),
  /** A sync of the event log fails: the process ends by itself, and is started again. */
  logSync: (random) => failingSync(random),
  /** A sync of the call store fails, with the same end. */
  callSync: (random) => failingSync(random),
  /** Syncs of the audit fail: calls are refused until it is repaired. */
  auditSync: (random) => ({ skip: random.below(6), count: 1 + random.below(3), keep: random.below(3) / 2 }),
  /** The power fails: the process is gone, and of what was not synced, any of it. */
  powerCut: (random) => ({ ...cut(random), clockMs: random.below(4) === 0 ? stepMs(random) : 0 }),
  /** Upstream does not answer some requests until the gateway gives up, the process is killed, or it does answer. */
  upstreamHang: (random) => ({
    count: 1 + random.below(4),
    outlasts: random.below(2) === 0,
    answers: random.below(2) === 0,
  }),
  /** Upstream closes connections without an answer, some before it has read the request and some after. */
  upstreamReset: (random) => ({ count: 1 + random.below(4), reads: random.below(2) === 0 }),
  /** Syncs wait; then they go on, or the process is killed, or the power is cut, or the process is killed and the power
   *  cut while the next process waits, too. */
  syncHang: (random) => ({
    match: random.pick(['', 'events', 'audit']),
    skip: random.below(5),
    then: random.pick(['goesOn', 'killed', 'cut', 'cut', 'cutAgain']),
    ms: random.below(200),
    ...cut(random),
  }),
  /** Nothing that makes a file grow can be written for a while. */
  fullDisk: (random) => ({ freeBytes: random.below(20_000) }),
};

const failingSync = (random) => ({ skip: random.below(6), keep: random.below(3) / 2, thenCut: random.below(2) === 0 });

const cut = (random) => ({ pieceBytes: random.pick([512, 4096]), keep: random.below(5) / 4 });

/** A step of the clock, up to two minutes. */
const stepMs = (random) => random.pick([-1, 1]) * random.pick([1, 10, 45, 120]) * (500 + random.below(500));

/**
 * @param {import('../random.mjs').Random} random
 * @param {string[]} kinds each is there once, and some again
 * @param {number} more how many again
 * @returns {{kind: string, progress: number}[]} each with its options: `progress` is how many events and submits are
 *     answered before it
 */
export function makeSchedule(random, kinds, more) {
  const chosen = [...kinds];
  for (let again = 0; again < more; ++again) chosen.push(random.pick(kinds));
  const schedule = [];
  while (chosen.length > 0) {
    const [kind] = chosen.splice(random.below(chosen.length), 1);
    // One in three comes at once.
    const progress = Math.max(0, random.below(60) - 20);
    schedule.push({ kind, progress, ...STEPS[kind](random) });
    // Some faults show after a certain other one.
    const { thenCut, outlasts, answers } = schedule.at(-1);
    if (thenCut) schedule.push({ kind: 'powerCut', progress: random.below(40), clockMs: 0, ...cut(random) });
    if (outlasts && answers) schedule.push({ kind: 'terminate', progress: 0, clockMs: 0 });
  }
  return schedule;
}
