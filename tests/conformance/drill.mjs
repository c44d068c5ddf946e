// A drill: a driver makes submits while connections break, and while the gateway is killed and drained.
import { ORGANIZATION } from '../simulator/testing.mjs';
import { tcpSocketsOf, threadsOf, until } from '../end_to_end/processes.mjs';
import { Random } from '../end_to_end/random.mjs';
import { Driver } from './driver.mjs';
import { Proxy } from './proxy.mjs';
import { startStack } from './stacks.mjs';

/** The number of submits in progress. */
const AT_ONCE = 8;

/**
 * The largest number of kills, and of drains. After each kill, the gateway's timestamps begin up to ten seconds further ahead of
 * the clock, and it refuses submits whose timestamp would be more than a minute ahead. So five kills never make it
 * refuse one, however fast they follow each other.
 */
const MAX_KILLS = 5;

/** A kill and a drain come in so many submits, up to the maximum. */
const SUBMITS_PER_KILL = 100;

/** One of so many submits breaks a connection. */
const SUBMITS_PER_BREAK = 8;

/**
 * One of so many submits has a short deadline, and upstream is slow to answer it or another one. So the outcomes of some
 * submits are unknown although upstream has acted. The gateway needs more than 60 ms.
 */
const SUBMITS_PER_SHORT_DEADLINE = 8;
const shortDeadlineMs = (random) => 80 + random.below(100);
const SLOW = { kind: 'slow', ms: 150 };
const LONG_MS = 30_000;

/** A submit whose outcome is unknown is repeated at most so often. */
const MAX_REPETITIONS = 10;

/** How long a driver may keep the sockets of connections that have ended. */
const SOCKETS_TIMEOUT_MS = 10_000;

/** @type {((random: Random) => import('./proxy.mjs').Break[])[]} */
const BREAKS = [
  () => [{ connections: 1 }, { now: true }],
  (random) => [{ toGateway: 1 + random.below(600) }],
  (random) => [{ fromGateway: 1 + random.below(600) }],
  () => [{ now: true }],
];

/**
 * What happened.
 * @typedef {object} Report
 * @property {number} submits
 * @property {number} results submits that ended with a result, possibly after a repetition with their key
 * @property {number} errors typed errors, also those of unknown outcomes, after which the submit was repeated
 * @property {number} resets connections that broke, without those of kills and drains
 * @property {number} kills
 * @property {number} drains
 * @property {number} seconds
 * @property {number} activities activities of upstream
 * @property {number} doubled submits with more than one activity
 * @property {number} sockets TCP sockets that the driver still has after all connections have ended
 * @property {number} threads threads that the driver has more at the end than after its first submit
 * @property {string[]} faults broken promises, without those that the numbers show
 */

/**
 * Makes the submits with a driver. Everything ends with `t`.
 * @param {{after: (task: () => any) => void}} t
 * @param {{program: {command: string[], env?: NodeJS.ProcessEnv}}} language
 * @param {{submits: number, seed: string}} options
 * @returns {Promise<Report>}
 */
export async function drill(t, { program }, { submits, seed }) {
  const stack = await startStack(t, 'plain', {});
  const proxy = await Proxy.start(() => stack.gateway.address);
  t.after(() => proxy.close());
  const driver = new Driver(program);
  t.after(() => driver.kill());
  const connect = { do: 'connect', address: proxy.address, tls: null, token_file: null, deadline_ms: LONG_MS };
  await driver.ask(connect);
  const drilled = new Drill(stack, proxy, driver, new Random(seed));
  await drilled.submit([0]);
  const threads = threadsOf(driver.pid);
  const begun = Date.now();
  await drilled.submit(
    Array.from({ length: submits - 1 }, (_, index) => index + 1),
    planned(submits, drilled.random),
  );
  const seconds = Math.round((Date.now() - begun) / 1000);
  return { seconds, ...drilled.report(), ...(await drilled.end(threads)) };
}

/**
 * The signals that end the gateway, by the numbers of the submits before which this happens.
 * @returns {Map<number, NodeJS.Signals>}
 */
function planned(submits, random) {
  const kills = Math.min(Math.floor(submits / SUBMITS_PER_KILL), MAX_KILLS);
  /** @type {NodeJS.Signals[]} */
  const signals = Array.from({ length: 2 * kills }, (_, index) => (index % 2 === 0 ? 'SIGKILL' : 'SIGTERM'));
  const each = Math.floor((submits - 1) / signals.length);
  return new Map(signals.map((signal, index) => [1 + index * each + random.below(each), signal]));
}

const nameOf = (number) => `policy ${number}`;

class Drill {
  #stack;
  #proxy;
  #driver;
  /** The outcomes by the names of the policies: each the ids of policies, or undefined after an error. */
  #outcomes = new Map();
  #errors = 0;
  #ends = { SIGKILL: 0, SIGTERM: 0 };
  /** @type {string[]} */
  #faults = [];

  constructor(stack, proxy, driver, random) {
    this.#stack = stack;
    this.#proxy = proxy;
    this.#driver = driver;
    this.random = random;
  }

  /**
   * Makes these submits, several at a time.
   * @param {number[]} numbers
   * @param {Map<number, NodeJS.Signals>} [signals] if it is given, connections break, and the gateway is ended
   */
  async submit(numbers, signals) {
    const inProgress = [];
    for (const number of numbers) {
      if (signals) await this.#disturb(signals.get(number));
      const isShort = signals && this.random.below(SUBMITS_PER_SHORT_DEADLINE) === 0;
      if (isShort) this.#stack.simulator.addFaults([SLOW]);
      inProgress.push(await this.#start(number, isShort ? shortDeadlineMs(this.random) : LONG_MS));
      if (inProgress.length === AT_ONCE) await this.#settle(inProgress.shift());
    }
    for (const submit of inProgress) await this.#settle(submit);
  }

  async #disturb(signal) {
    if (this.random.below(SUBMITS_PER_BREAK) === 0) {
      this.random
        .pick(BREAKS)(this.random)
        .forEach((place) => this.#proxy.breakAt(place));
    }
    if (signal === undefined) return;
    const ended = await this.#stack.gateway.stop(signal);
    if (signal === 'SIGTERM' && ended.status !== 0) this.#faults.push(`a drain ended with ${JSON.stringify(ended)}`);
    this.#ends[signal] += 1;
    await this.#stack.start();
  }

  async #start(number, deadline_ms, { key = undefined, repetition = 0 } = {}) {
    const id = `${number}.${repetition}`;
    const policies = [{ policy_name: nameOf(number), effect: 'EFFECT_ALLOW', notes: '' }];
    const request = { organization_id: ORGANIZATION, parameters: { policies } };
    const call = { method: 'PolicyService/CreatePolicies', request, ...(key && { key }), deadline_ms };
    await this.#driver.ask({ do: 'start', id, what: 'submit', ...call });
    return { number, id, repetition };
  }

  /** Waits for the end of a submit. Repeats it with its key while its outcome is unknown. */
  async #settle({ number, id, repetition }) {
    const name = nameOf(number);
    const line = await this.#driver.ask({ do: 'wait', id });
    const { result, error, outcome_unknown: unknown } = line;
    if (result) return void this.#outcomes.set(name, result.create_policies_result?.policy_ids);
    this.#errors += 1;
    if (unknown?.key && repetition < MAX_REPETITIONS) {
      const again = { key: unknown.key, repetition: repetition + 1 };
      return this.#settle(await this.#start(number, LONG_MS, again));
    }
    this.#outcomes.set(name, undefined);
    if (!error?.code) this.#faults.push(`${name} ended with ${JSON.stringify(line)}`);
  }

  /** Compares the outcomes with the activities of upstream. */
  report() {
    const { activitiesById } = this.#stack.simulator.service.state;
    /** @type {Map<string, string[][]>} */
    const created = new Map();
    for (const { intent, result } of activitiesById.values()) {
      const [{ policyName }] = intent.createPoliciesIntent.policies;
      const { policyIds } = result.createPoliciesResult;
      created.set(policyName, [...(created.get(policyName) ?? []), policyIds]);
    }
    for (const [name, ids] of this.#outcomes) {
      const [first] = created.get(name) ?? [];
      if (JSON.stringify(ids) === JSON.stringify(first)) continue;
      this.#faults.push(`${name} ended with ${ids ?? 'an error'}, and upstream created ${first ?? 'nothing'}`);
    }
    const counts = [...created.values()].map(({ length }) => length);
    return {
      submits: this.#outcomes.size,
      results: [...this.#outcomes.values()].filter((ids) => ids !== undefined).length,
      errors: this.#errors,
      resets: this.#proxy.resets,
      kills: this.#ends.SIGKILL,
      drains: this.#ends.SIGTERM,
      activities: activitiesById.size,
      doubled: counts.filter((count) => count > 1).length,
      faults: this.#faults,
    };
  }

  /** Ends all connections, and then the driver. Counts what the driver has left over. */
  async end(threadsBefore) {
    const { pid } = this.#driver;
    const threads = Math.max(threadsOf(pid) - threadsBefore, 0);
    await this.#stack.gateway.stop();
    this.#proxy.close();
    await until(() => tcpSocketsOf(pid) === 0, 'no sockets', SOCKETS_TIMEOUT_MS).catch(() => {});
    const sockets = tcpSocketsOf(pid);
    await this.#driver.ask({ do: 'close' });
    const status = await this.#driver.end();
    if (status !== 0) this.#faults.push(`the driver ended with ${status}`);
    return { sockets, threads };
  }
}
