// One case with one driver: carries out the steps of the case, and compares what the driver prints.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricsOf } from '../end_to_end/admin_port.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { SUBMIT, failureOf } from '../end_to_end/failures.mjs';
import { stampKeyOf } from '../end_to_end/policy_callers.mjs';
import { until } from '../end_to_end/processes.mjs';
import { apiKeyNamed, submit } from '../simulator/testing.mjs';
import { LINE_TIMEOUT_MS } from './driver.mjs';
import { difference, filled, shown } from './matching.mjs';
import { Proxy } from './proxy.mjs';

/** Members of an error that a driver may leave out, or print with one of these values, if the error has none. */
const isEmpty = (value) =>
  ['', 0, null].includes(value) || (typeof value === 'object' && Object.keys(value).length === 0);

/** The line without the members of its error that say nothing. */
function normal({ error, ...line }) {
  if (error === undefined) return line;
  return { ...line, error: Object.fromEntries(Object.entries(error).filter(([, value]) => !isEmpty(value))) };
}

const at = (value, path) => path.split('.').reduce((member, name) => member?.[name], value);

/** The last segment of the path of a request. */
const nameOf = ({ path }) => path.split('/').at(-1);

/** A step failed: the driver, or the requests that upstream received, differ from what the case expects. */
class Difference extends Error {}

function check(expected, actual) {
  const found = difference(expected, actual);
  if (found !== undefined) throw new Difference(found);
}

export class Scene {
  #values = new Map();
  /** @type {import('./judge.mjs').SharedDriver} */
  #shared;
  #stack;
  #case;
  /** @type {import('./driver.mjs').Driver | undefined} */
  #driver;
  /** @type {Proxy | undefined} */
  #proxy;
  #commands = 0;
  #events = 0;

  /**
   * @param {import('./judge.mjs').SharedDriver} shared gets the driver back if the driver passes
   * @param {any} stack
   * @param {import('./judge.mjs').Case} theCase
   */
  constructor(shared, stack, theCase) {
    this.#shared = shared;
    this.#stack = stack;
    this.#case = theCase;
  }

  /**
   * Carries out the case.
   * @returns {Promise<string | undefined>} the first difference or fault, or undefined if the driver passes
   */
  async play() {
    let place = 'the connection';
    try {
      if (this.#case.connect?.through === 'proxy') this.#proxy = await Proxy.start(() => this.#stack.gateway.address);
      for (const [index, step] of (this.#case.before ?? []).entries()) {
        place = `step ${index + 1} before the connection`;
        await this.#carryOut(step);
      }
      place = 'the connection';
      await this.start('driver');
      for (const [index, step] of this.#case.steps.entries()) {
        place = `step ${index + 1} (${step.do ?? Object.keys(step).join()})`;
        await this.#carryOut(step);
      }
      place = 'the end';
      check({ ok: true }, await this.#driver.ask({ do: 'close' }));
      check([], this.#driver.takeRest());
      this.#shared.giveBack(this.#driver);
      this.#driver = undefined;
      return undefined;
    } catch (error) {
      const noise = this.#driver?.errors ? `\n    the driver's standard error: ${this.#driver.errors.trimEnd()}` : '';
      return `${place}: ${error instanceof Difference ? error.message : error.stack}${noise}`;
    } finally {
      await this.#driver?.kill();
      this.#proxy?.close();
    }
  }

  get #cursorFile() {
    return join(this.#stack.folder, 'cursor');
  }

  /**
   * The requests of the gateway, without those by which it reads activities and key sets. The simulator of another case
   * may still deliver events to this port, which its gateway had before it was killed.
   */
  get #requests() {
    const isOfCase = (request) =>
      request.path.startsWith('/public/v1/') && !['get_activity', 'jwks'].includes(nameOf(request));
    return this.#stack.simulator.requests().filter(isOfCase);
  }

  async #carryOut(step) {
    const { do: command, gives, saves = {}, tookMs, ...rest } = step;
    if (command === undefined) {
      for (const [verb, argument] of Object.entries(rest)) await this[verb](filled(argument, this.#values));
      return;
    }
    this.#commands += 1;
    const { id = String(this.#commands), cursorFile, ...members } = rest;
    const sent = { do: command, id, ...(cursorFile && { cursor_file: this.#cursorFile }), ...members };
    const begun = Date.now();
    this.#driver.send(filled(sent, this.#values));
    if (gives === undefined) return;
    const line = await this.#driver.line();
    const { id: answered, ...answer } = normal(line);
    if (answered !== undefined) check(id, answered);
    const found = difference(filled(gives, this.#values), answer);
    if (found !== undefined) throw new Difference(`${found}\n    the whole line: ${shown(line)}`);
    if (tookMs !== undefined) check({ tookMs }, { tookMs: Date.now() - begun });
    for (const [name, path] of Object.entries(saves)) this.#values.set(name, at(line, path));
  }

  // The steps of the judge itself, by their names in cases.

  /** Checks the driver's next lines. A line of an event that is marked as `mayRepeat` may be absent. */
  async reads(lines) {
    let next;
    for (const { mayRepeat, ...expected } of lines) {
      next ??= normal(await this.#driver.line());
      const { id, ...line } = next;
      const found = difference(expected, line);
      if (found !== undefined && !mayRepeat) throw new Difference(`${found}\n    the whole line: ${shown(next)}`);
      if (found === undefined) next = undefined;
    }
    if (next !== undefined) throw new Difference(`a further line: ${JSON.stringify(next)}`);
  }

  /** Adds faults to the simulator. */
  faults(faults) {
    this.#stack.simulator.addFaults(faults);
  }

  /** Resolves when the simulator holds this number of responses. */
  async holds(count) {
    if (!(await this.#stack.simulator.waitFor({ held: count }))) throw new Error(`the simulator never held ${count}`);
  }

  /** Lets the simulator send the held responses. */
  release() {
    this.#stack.simulator.release();
  }

  /** Removes all faults, and lets the simulator send the held responses. */
  heals() {
    this.#stack.simulator.clearFaults();
    this.#stack.simulator.release();
  }

  /** Resolves when upstream has received this number of submits. */
  async submits(count) {
    const { simulator } = this.#stack;
    const received = () => simulator.requests().filter(({ path }) => path.includes('/submit/')).length;
    await until(() => received() >= count, `${count} submits have arrived`);
  }

  /**
   * Checks what upstream has received and done since the case began.
   * @param {object} expected
   * @param {string[]} [expected.operations] the last segments of the paths, in the order of arrival
   * @param {number} [expected.bodies] the number of different bodies of submits
   * @param {number} [expected.activities] the number of activities
   */
  received({ operations, bodies, activities }) {
    const requests = this.#requests;
    if (operations) check(operations, requests.map(nameOf));
    const submits = requests.filter(({ path }) => path.includes('/submit/'));
    const actual = {
      bodies: new Set(submits.map(({ body }) => body)).size,
      activities: this.#stack.simulator.service.state.activitiesById.size,
    };
    if (bodies !== undefined) check({ bodies }, { bodies: actual.bodies });
    if (activities !== undefined) check({ activities }, { activities: actual.activities });
  }

  /** Checks a member of the last request's body that upstream received. */
  sent(members) {
    const { body } = this.#requests.at(-1);
    check(members, JSON.parse(body));
  }

  /** Ends the only open activity with this status. */
  async ends(status) {
    const { simulator } = this.#stack;
    const ids = () => simulator.service.open.ids();
    await until(() => ids().length === 1, 'one activity is open');
    simulator.endActivity(ids()[0], { status });
  }

  /** A second user votes on the only open activity. */
  async votes(selection) {
    const { simulator } = this.#stack;
    const ids = () => simulator.service.open.ids();
    await until(() => ids().length === 1, 'one activity is open');
    const { fingerprint } = simulator.service.state.activitiesById.get(ids()[0]);
    const name = { approve: 'approve_activity', reject: 'reject_activity' }[selection];
    const options = /** @type {any} */ ({ apiKey: apiKeyNamed('end user 1') });
    await submit(simulator, name, name.toUpperCase(), { fingerprint }, options);
  }

  /**
   * Sends events with these ids, each with `type` and with `padding` characters. Resolves when the gateway has stored
   * them.
   */
  async delivers({ ids, type = 'note', padding = 0 }) {
    for (const eventId of ids) {
      this.#events += 1;
      const json = { type, number: this.#events, padding: 'x'.repeat(padding) };
      const { status } = await deliver(this.#stack.simulator, { eventId, json });
      if (status !== 200) throw new Error(`the gateway answered the delivery of ${eventId} with ${status}`);
    }
  }

  /** Sends a balance event; see Webhooks.sendBalance(). Resolves when the gateway has stored it. */
  async balance(event) {
    await deliver(this.#stack.simulator, event, 'sendBalance');
  }

  /** Makes the gateway remove old events: it removes them after later deliveries, also repeated ones. */
  async trims({ type = 'note', padding }) {
    for (let round = 0; round < 5; round += 1) {
      const json = { type, number: this.#events, padding: 'x'.repeat(padding) };
      await deliver(this.#stack.simulator, { eventId: 'last', json });
    }
  }

  /** Starts the gateway or Envoy on its earlier port, or the driver, which then connects. */
  async start(what) {
    const stack = this.#stack;
    if (what === 'envoy') {
      await stack.envoy.run();
      return;
    }
    if (what === 'gateway') {
      stack.config.listen_address = stack.gateway.address;
      await stack.start();
      return;
    }
    this.#driver = this.#shared.take();
    const { through, deadline_ms = 20_000, max_response_bytes, address, token = false } = this.#case.connect ?? {};
    const connect = {
      do: 'connect',
      address: address ?? (through === 'proxy' ? this.#proxy : (stack.envoy ?? stack.gateway)).address,
      tls: stack.tls ?? null,
      token_file: token ? stack.tokenFile : null,
      deadline_ms,
      ...(max_response_bytes && { max_response_bytes }),
    };
    check({ ok: true }, await this.#driver.ask(connect));
  }

  /** Ends the gateway, Envoy or the driver without warning. */
  async kill(what) {
    if (what === 'driver') await this.#driver.kill();
    else await this.#stack[what].stop('SIGKILL');
  }

  /** Ends the gateway as an operator does: it drains. */
  drains() {
    this.#stack.gateway.child.kill('SIGTERM');
  }

  /** Resolves when the gateway has ended. */
  async stopped() {
    check({ status: 0, signal: null }, await this.#stack.gateway.stop());
  }

  /** Writes a cursor, which can be empty, and a line feed to the driver's cursor file. */
  writesCursor(cursor) {
    writeFileSync(this.#cursorFile, `${cursor}\n`);
  }

  /** The disk of the idempotency keys no longer answers. Resolves when the gateway refuses submits with a key. */
  async hangs() {
    const { machine, gateway } = this.#stack;
    machine.hang({ match: 'calls.db' });
    const keyed = { ...SUBMIT, request: { ...SUBMIT.request, idempotency_key: 'of-the-judge' } };
    await until(async () => (await failureOf(gateway, keyed)).reason === 'IDEMPOTENCY_UNAVAILABLE', 'it refuses keys');
  }

  /** Removes the event log of the stopped gateway. */
  losesLog() {
    const { folder, file } = this.#stack;
    for (const name of readdirSync(folder)) if (join(folder, name).startsWith(file)) rmSync(join(folder, name));
  }

  /** Leaves only these callers in the config of the next gateway. */
  callers(names) {
    const { config } = this.#stack;
    config.callers = config.callers.filter(({ name }) => names.includes(name));
  }

  /** Resolves when the gateway has this number of subscribers. */
  async subscribers(count) {
    const { gateway } = this.#stack;
    const subscribers = async () => (await metricsOf(gateway)).get('stampgate_subscribers');
    await until(async () => (await subscribers()) === count, `${count} subscribers`);
  }

  /** Resolves when the driver's cursor file has the cursor at the end of the event log. */
  async savesLatestCursor() {
    const { cursor } = await this.#stack.gateway.call('EventService/ListEvents', { end: 'LOG_END_LATEST' });
    const isSaved = () => existsSync(this.#cursorFile) && readFileSync(this.#cursorFile, 'utf8').includes(cursor);
    await until(isSaved, 'the driver has saved the cursor of a heartbeat', LINE_TIMEOUT_MS);
  }

  /** Makes a copy of the saved `event` in which `member` is that of another event, and saves the copy. */
  swaps({ event, member, with: other, as }) {
    this.#values.set(as, { ...this.#values.get(event), [member]: this.#values.get(other)[member] });
  }

  /** Checks which key made the stamp of the last request that upstream received. */
  stampedBy(publicKey) {
    check(publicKey, stampKeyOf(this.#requests.at(-1)));
  }

  /** Breaks the connections through the proxy of the case or of the stack; see Break in proxy.mjs. */
  breaks(place) {
    (this.#proxy ?? this.#stack.proxy).breakAt(place);
  }

  /** Replaces the driver's certificate. */
  certifies(name) {
    this.#stack.certify(name);
  }

  /** Replaces the certificate that the driver trusts by the right one or another. */
  trusts(isRight) {
    this.#stack.trust(isRight);
  }

  /** Writes the driver's token file: a static token, or with `true` a token of the issuer. */
  writesToken(content) {
    if (content === true) this.#stack.issueToken();
    else this.#stack.writeToken(content);
  }

  /** The gateway accepts only this static token. */
  async acceptsToken(content) {
    await this.#stack.acceptToken(content);
  }

  /** The issuer's token expires. */
  expires() {
    this.#stack.expire();
  }
}
