// The kinds of steps in the rounds of subscription_history_test and postgresql_subscription_history_test.

/** Every kind of step with one gateway, with its random options. */
export const STEPS = {
  /** SIGKILL, and a new process. */
  kill: () => ({}),
  /** SIGTERM: the process drains. */
  terminate: () => ({}),
  /** SIGSTOP, and SIGCONT after a while. */
  pause: (random) => ({ ms: 20 + random.below(200) }),
  /** The power fails: the process ends, and any part of the unsynced writes is lost. */
  powerCut: (random) => ({ pieceBytes: random.pick([512, 4096]), keep: random.below(5) / 4 }),
  /** For a while, writes that make a file larger fail. */
  fullDisk: (random) => ({ freeBytes: random.below(20_000) }),
  /** Time passes: a part of `settle_within`, or all of it. */
  passTime: (random) => ({ ms: random.pick([10_000, 31_000, 31_000, 65_000]) }),
  /** A consumer cancels its stream, or its connection breaks, or it crashes and forgets what it holds. */
  cancel: (random) => ({ index: random.below(CONSUMERS) }),
  lose: (random) => ({ index: random.below(CONSUMERS), isReset: random.below(2) === 0 }),
  crash: (random) => ({ index: random.below(CONSUMERS) }),
  /** Parked events return to the subscription, or are removed from it. */
  retryParked: (random) => ({ most: 1 + random.below(5) }),
  skipParked: (random) => ({ most: 1 + random.below(2) }),
  /** The subscription moves to another place. */
  seek: (random) => ({
    place: random.pick(['earliest', 'latest', 'event', 'event', 'event']),
    share: random.below(100),
  }),
  /** Retention deletes the events up to now. */
  retention: () => ({}),
  /** A reload takes the subscription from its callers, or removes it, and another one restores it. */
  reload: (random) => ({ removes: random.pick(['caller', 'subscription']) }),
};

const { passTime, cancel, lose, crash, retryParked, skipParked, seek, retention } = STEPS;
const anyGateway = (random) => random.below(3);
/** In half of the cases, others take the partitions of a gateway before its next process starts. */
const down = (random) => ({ index: anyGateway(random), downMs: random.pick([0, 6500]) });

/**
 * Every kind of step with several gateways on a cluster of servers: the steps that take long, because a hold must end
 * or a server must be copied.
 */
export const LONG_SHARED_STEPS = {
  /** SIGKILL, and a new process. */
  kill: down,
  /** SIGSTOP for longer than a hold, and SIGCONT. Meanwhile, `settle_within` can be over. */
  pause: (random) => ({ index: anyGateway(random), passesMs: random.pick([0, 31_000]) }),
  /** A gateway cannot reach the store for longer than a hold. */
  cutOff: (random) => ({ index: anyGateway(random) }),
  /** A standby becomes the primary, because the primary is lost, or because it was stopped and wakes afterwards. */
  killPrimary: () => ({}),
  wakeOldPrimary: (random) => ({ aloneMs: random.pick([1500, 7000]) }),
  /** SIGTERM: the process drains. */
  terminate: down,
};

/** The steps that take less. */
export const SHORT_SHARED_STEPS = {
  /** A gateway does not get the responses to some COMMITs. */
  cutCommits: (random) => ({ index: anyGateway(random) }),
  /** The clock of the servers steps: forward by less than what the judge allows, or back. */
  serverClock: (random) => ({ ms: random.pick([-20_000, -6000, 6000]) }),
  /** A reload of one gateway. */
  reload: (random) => ({ index: anyGateway(random), removes: random.pick(['caller', 'subscription']) }),
  ...{ passTime, cancel, lose, crash, retryParked, skipParked, seek, retention },
};

/** The number of consumers. */
export const CONSUMERS = 3;

/** Returns `count` of the kinds, in random order. */
export function someOf(random, kinds, count) {
  const left = [...kinds];
  const some = [];
  while (left.length > 0 && some.length < count) some.push(...left.splice(random.below(left.length), 1));
  return some;
}
