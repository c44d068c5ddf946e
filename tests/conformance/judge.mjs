// Runs cases with the drivers of the languages, several at a time, and collects the results.
import { Driver } from './driver.mjs';
import { Scene } from './scene.mjs';
import { Ending, startStack } from './stacks.mjs';

/**
 * A case: data, which scene.mjs carries out.
 * @typedef {object} Case
 * @property {string} name a fact
 * @property {'plain' | 'machine' | 'envoy' | 'tls' | 'tokens'} stack see stacks.mjs
 * @property {object} [config] merged over the stack's config at its top level
 * @property {object} [events] the config's section `events`
 * @property {boolean} [own] whether the case needs a stack that no other case has used
 * @property {{through?: 'proxy', address?: string, deadline_ms?: number, max_response_bytes?: number,
 *     token?: boolean}} [connect]
 * @property {object[]} [before] the judge's steps before the driver starts
 * @property {object[]} steps in order. A step is a command for the driver (`do`), with the line that the driver `gives`,
 *     the parts of that line that the step `saves`, and the time that it took (`tookMs`); or it names a method of Scene
 *     with its argument
 */

/**
 * @typedef {object} Language
 * @property {string} name
 * @property {{command: string[], env?: NodeJS.ProcessEnv}} program the driver
 */

/** The number of cases of one language that run at a time. Most of them wait most of the time. */
const AT_ONCE = 2;

/** Stacks that cases of one worker share. */
class Stacks {
  #shared = new Map();

  /**
   * Returns the stack for the case in its initial state, and how the case returns it.
   * @param {Case} theCase
   */
  async take({ stack: name, config, events, own }) {
    if (own || config || events) {
      const ending = new Ending();
      const stack = await startStack(ending, name, { config, events });
      return { stack, giveBack: () => ending.end() };
    }
    if (!this.#shared.has(name)) {
      const ending = new Ending();
      this.#shared.set(name, { ending, stack: await startStack(ending, name, {}) });
    }
    const { stack, ending } = this.#shared.get(name);
    stack.simulator.reset();
    stack.simulator.webhooks.setEndpoints(null, [stack.gateway.webhookUrl]);
    return { stack, giveBack: async () => {}, discard: () => (this.#shared.delete(name), ending.end()) };
  }

  async end() {
    for (const { ending } of this.#shared.values()) await ending.end();
  }
}

/** The driver that cases of one worker use one after the other, until one of them fails. */
export class SharedDriver {
  #program;
  /** @type {Driver | undefined} */
  #idle;

  /** @param {Language['program']} program */
  constructor(program) {
    this.#program = program;
  }

  /** Returns a driver that is not connected. The case must give it back, or end it. */
  take() {
    const driver = this.#idle ?? new Driver(this.#program);
    this.#idle = undefined;
    return driver;
  }

  /** @param {Driver} driver it has closed its connection */
  giveBack(driver) {
    this.#idle = driver;
  }

  /** Ends the driver, if it is given back. Resolves to a fault if it does not end by itself, with status 0. */
  async end() {
    const ending = (await this.#idle?.end()) ?? 0;
    this.#idle = undefined;
    return ending === 0 ? undefined : `the driver ended with ${ending}`;
  }
}

/**
 * Runs the cases with each language.
 * @param {Language[]} languages
 * @param {Case[]} cases
 * @param {(theCase: Case, language: Language, fault: string | undefined) => void} [report] called after each case;
 *     `fault` is undefined if the driver passed
 */
export async function judge(languages, cases, report = () => {}) {
  await Promise.all(
    languages.flatMap((language) => {
      const left = [...cases];
      return Array.from({ length: Math.min(AT_ONCE, cases.length) }, () => work(language, left, report));
    }),
  );
}

/** Runs cases from the list until none is left. */
async function work(language, left, report) {
  const stacks = new Stacks();
  const driver = new SharedDriver(language.program);
  for (let theCase = left.shift(); theCase !== undefined;) {
    // A driver that is killed never ends by itself, so that it could not show what its earlier cases have left over.
    const isKilled = theCase.steps.some(({ kill }) => kill === 'driver');
    const own = isKilled ? new SharedDriver(language.program) : driver;
    const fault = await faultOf(own, theCase, stacks);
    const next = left.shift();
    const endings = [isKilled && (await own.end()), next === undefined && (await driver.end())];
    report(theCase, language, [fault, ...endings].find(Boolean));
    theCase = next;
  }
  await stacks.end();
}

/** Plays the case. Resolves to its first fault. */
async function faultOf(driver, theCase, stacks) {
  const { stack, giveBack, discard = giveBack } = await stacks.take(theCase);
  const fault = await new Scene(driver, stack, theCase).play();
  try {
    // A failed case may leave the stack in any state.
    await (fault === undefined ? giveBack() : discard());
  } catch (error) {
    return fault ?? `the stack: ${error.stack}`;
  }
  return fault;
}
