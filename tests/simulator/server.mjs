// The simulator's server: handles sockets and request bodies, and calls the other files for each step of a request.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { Capture } from './capture.mjs';
import { control, isControl } from './control.mjs';
import { deliver } from './delivery.mjs';
import { FaultError } from './fault_list.mjs';
import { Faults, faultyAnswer } from './faults.mjs';
import { headerPairs } from './headers.mjs';
import { jsonAnswer } from './answers.mjs';
import { Refusal } from './errors.mjs';
import { isLimits, RateLimits } from './rate_limits.mjs';
import { Service } from './service.mjs';
import { Webhooks } from './webhooks.mjs';

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;

const SETTINGS = {
  timestamps: (value) => ['object', 'string'].includes(value),
  references: (value) => ['checked', 'any'].includes(value),
  voteAnswer: (value) => ['target', 'vote'].includes(value),
  answers: (value) => ['state', 'full', 'least'].includes(value),
  choice: (value) => Number.isSafeInteger(value) && value >= 0,
  clockOffsetMs: Number.isSafeInteger,
  rateLimits: isLimits,
};

/**
 * Starts a simulator on a loopback address.
 * @param {object} [options]
 * @param {string} [options.host]
 * @param {number} [options.port] 0: any free one
 * @param {{cert: string | Buffer, key: string | Buffer}} [options.tls] without it, plain HTTP
 * @param {string} [options.operator] upstream's name, which is a part of header and member names
 * @param {object} [options.fixture] the service's initial state; default: fixture.json
 * @param {{publicKey: string, curve: string}[]} [options.publicKeys] additional API keys of the fixture's first user
 * @param {'object' | 'string'} [options.timestamps] the form of an activity's own times
 * @param {'checked' | 'any'} [options.references] 'any': accepts unknown identifiers
 * @param {'state' | 'full' | 'least'} [options.answers] 'full', 'least': the members that are set in made answers
 * @param {number} [options.choice] which value of each enum, and which member of each oneof, made answers have
 * @param {{requests: number, perMs: number, path?: string}[]} [options.rateLimits] for each source address, and with
 *     `path` for one path; all of them hold
 * @param {number} [options.keepAliveMs] how long an idle connection stays open
 * @param {() => number} [options.now] the clock, in milliseconds
 * @param {{urls?: string[], ca?: string | Buffer, settings?: object}} [options.webhooks] see webhooks.mjs
 * @returns {Promise<Simulator>}
 */
export async function startSimulator(options = {}) {
  const simulator = new Simulator(options);
  await simulator.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  return simulator;
}

export class Simulator {
  #capture = new Capture();
  #faults = new Faults();
  #connections = new WeakMap();
  #rateLimits = new RateLimits();

  constructor(options) {
    const { operator = 'service', publicKeys = [], fixture = readFixture(), now = Date.now } = options;
    const { timestamps = 'object', references = 'checked', rateLimits = [], keepAliveMs = 60_000 } = options;
    if (!/^[a-z][a-z0-9]*$/.test(operator)) throw new Error('operator must be lower-case letters and digits');
    const { answers = 'state', choice = 0 } = options;
    const voteAnswer = 'target';
    this.initialSettings = { timestamps, references, answers, choice, rateLimits, voteAnswer, clockOffsetMs: 0 };
    this.settings = {};
    this.change(this.initialSettings);
    this.service = new Service({
      ...{ fixture, publicKeys, operator, settings: this.settings, now },
      keySetAnswer: () => this.webhooks.keySetAnswer(),
      activityChanged: (activity) => this.webhooks.activityChanged(activity),
    });
    /** The webhook sender, with its part of the control interface. */
    this.webhooks = new Webhooks(
      { fixture, operator, state: () => this.service.state, nowMs: () => this.service.nowMs() },
      options.webhooks,
    );
    this.operator = operator;
    this.scheme = options.tls ? 'https' : 'http';

    const serverOptions = { ...options.tls, keepAliveTimeout: keepAliveMs, maxHeaderSize: MAX_HEADER_BYTES };
    const onRequest = (request, response) => this.#handle(request, response).catch((error) => fail(response, error));
    this.server = options.tls
      ? https.createServer(serverOptions, onRequest)
      : http.createServer(serverOptions, onRequest);
    this.server.on('connection', (socket) => this.#refuseIfAsked(socket));
    this.server.on(options.tls ? 'secureConnection' : 'connection', (socket) => this.#number(socket));
  }

  async listen(port, host) {
    requireLoopback(host);
    await once(this.server.listen(port, host), 'listening');
    const address = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    this.port = address.port;
    this.url = `${this.scheme}://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${this.port}`;
  }

  /** Stops, and ends all pending operations without a response. */
  async close() {
    this.webhooks.close();
    await new Promise((resolve) => {
      this.server.close(resolve);
      this.server.closeAllConnections();
    });
    this.release();
  }

  // The control interface, for tests in the same process.

  addFaults(faults) {
    this.#faults.add(faults);
  }

  clearFaults() {
    this.#faults.clear();
  }

  pendingFaults() {
    return this.#faults.pending;
  }

  requests() {
    return this.#capture.list();
  }

  clearRequests() {
    this.#capture.clear();
  }

  stats() {
    return this.#capture.stats();
  }

  waitFor(wanted) {
    return this.#capture.waitFor(wanted);
  }

  release() {
    return this.#capture.release();
  }

  change(settings) {
    for (const [name, value] of Object.entries(settings)) {
      if (!SETTINGS[name]?.(value))
        throw new FaultError(`the setting ${name} does not exist or cannot have this value`);
    }
    return Object.assign(this.settings, settings);
  }

  /** Ends an activity that a fault `pending` keeps open. Returns it. See open_activities.mjs. */
  endActivity(activityId, how) {
    return this.service.open.end(activityId, how);
  }

  /** Restores the initial state. */
  reset() {
    this.change(this.initialSettings);
    this.service.reset();
    this.webhooks.reset();
    this.clearFaults();
    this.clearRequests();
    this.#rateLimits.clear();
    this.release();
  }

  #refuseIfAsked(socket) {
    if (this.#faults.take('connection').length > 0) socket.resetAndDestroy();
  }

  #number(socket) {
    this.#capture.connections += 1;
    this.#connections.set(socket, { number: this.#capture.connections, requests: 0 });
  }

  async #handle(request, response) {
    const path = request.url;
    if (isControl(path)) {
      const answer = await control({ method: request.method, url: path, rawBody: await readAll(request) }, this);
      return deliver(response, answer, [], this.#capture);
    }

    const connection = this.#connections.get(request.socket);
    connection.requests += 1;
    const seen = {
      method: request.method,
      path,
      headers: headerPairs(request.rawHeaders),
      connection: connection.number,
      requestOnConnection: connection.requests,
    };
    if (this.#faults.take('head', { path }).length > 0) {
      this.#capture.add({ ...seen, rawBody: Buffer.alloc(0), fault: 'resetBeforeRead', verdict: { outcome: 'reset' } });
      return void request.socket.resetAndDestroy();
    }

    let rawBody;
    try {
      rawBody = await readAll(request);
    } catch (error) {
      if (error instanceof Refusal) return deliver(response, this.service.refuse(error), [], this.#capture);
      this.#capture.add({ ...seen, rawBody: Buffer.alloc(0), verdict: { outcome: 'incomplete' } });
      return;
    }
    const { headers, refusal } = this.#rateLimits.take(
      request.socket.remoteAddress,
      this.settings.rateLimits,
      seen.path,
    );
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (refusal !== undefined) return this.#refuse({ ...seen, rawBody }, refusal, response);
    await this.#answer({ ...seen, rawBody }, response);
  }

  #refuse(seen, refusal, response) {
    this.#capture.add({ ...seen, verdict: { outcome: 'refused', status: refusal.http, message: refusal.message } });
    return deliver(response, this.service.refuse(refusal), [], this.#capture);
  }

  async #answer(seen, response) {
    const { path } = seen;
    const judgement = this.service.judge(seen);
    const { refusal, operation, stamper } = judgement;
    if (refusal !== undefined) return this.#refuse(seen, refusal, response);
    const parts = this.#faults.take('accepted', { path, isSubmit: operation?.type !== undefined });
    const perform = (ending) => this.service.perform(path, judgement, ending);
    const answer = faultyAnswer(parts, judgement, perform, this.operator);
    this.#capture.add({
      ...seen,
      publicKey: stamper?.publicKey,
      fault: parts.length > 0 ? parts.map(({ kind }) => kind).join('+') : undefined,
      verdict: { outcome: 'accepted', status: answer?.status },
    });
    return deliver(response, answer, parts, this.#capture);
  }
}

async function readAll(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // Reads bytes beyond the limit too; otherwise the client would see a broken connection instead of the response.
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) {
    throw new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', 'the request body is too large', { http: 413 });
  }
  return Buffer.concat(chunks);
}

function fail(response, error) {
  if (!(error instanceof FaultError)) process.stderr.write(`simulator: ${error.stack}\n`);
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = jsonAnswer(500, { simulatorError: error.message });
  response.writeHead(status, headers).end(body);
}

/** Throws unless `host` is a loopback address: the simulator accepts test keys, so other machines must not reach it. */
function requireLoopback(host) {
  const isLoopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (!isLoopback) throw new Error(`${host} is not a loopback address`);
}

export function readFixture(path = new URL('fixture.json', import.meta.url)) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
