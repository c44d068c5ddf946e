// The service's webhooks: endpoints, events, and the methods for tests.
import { randomUUID } from 'node:crypto';
import { jsonAnswer } from './answers.mjs';
import { FaultError } from './fault_list.mjs';
import { Holds } from './holds.mjs';
import { stringify } from './json.mjs';
import { Courier } from './webhook_courier.mjs';
import * as events from './webhook_events.mjs';
import { WebhookFaults } from './webhook_faults.mjs';
import { WebhookKeys } from './webhook_keys.mjs';
import { WebhookLoad } from './webhook_load.mjs';
import { WebhookQueue } from './webhook_queue.mjs';

const isNumberFrom = (least) => (value) => Number.isSafeInteger(value) && value >= least;

/**
 * @typedef {object} Settings
 * @property {number} retryMs the time before the first repetition
 * @property {number} maxRetryMs
 * @property {number} maxAttempts
 * @property {number} concurrency
 * @property {number} timeoutMs of an attempt
 * @property {string | null} cacheControl of the key set
 */
const SETTINGS = {
  retryMs: { initial: 100, isValid: isNumberFrom(0) },
  maxRetryMs: { initial: 2000, isValid: isNumberFrom(0) },
  maxAttempts: { initial: 100, isValid: isNumberFrom(1) },
  concurrency: { initial: 16, isValid: isNumberFrom(1) },
  timeoutMs: { initial: 30_000, isValid: isNumberFrom(1) },
  cacheControl: {
    initial: 'public, max-age=86400, s-maxage=86400, stale-if-error=604800',
    isValid: (value) => value === null || /^[\x20-\x7e]+$/.test(value),
  },
};

const EVENT_OPTIONS = ['type', 'organizationId', 'eventId', 'body', 'bodyBase64', 'json', 'url', 'faults'];

export class Webhooks {
  /**
   * @param {object} parts
   * @param {object} parts.fixture
   * @param {string} parts.operator
   * @param {() => import('./state.mjs').State} parts.state
   * @param {() => bigint} parts.nowMs
   * @param {object} [options]
   * @param {string[]} [options.urls] URLs that receive the events of all organizations
   * @param {string | Buffer} [options.ca] the CAs to trust instead of the system's, as PEM
   * @param {object} [options.settings]
   */
  constructor({ fixture, operator, state, nowMs }, { urls = [], ca, settings = {} } = {}) {
    this.operator = operator;
    this.state = state;
    this.nowMs = nowMs;
    /** The organization of events that name none. @type {string} */
    this.organizationId = fixture.organizations[0].organizationId;
    this.options = { urls, ca, settings };
    this.keys = new WebhookKeys(fixture.webhookKeys, this.operator);
    this.settings = /** @type {Settings} */ ({});
    this.reset();
  }

  /** Restores the initial state, except endpoints: they belong to the service's state, which the server resets. */
  reset() {
    this.close();
    const initial = Object.entries(SETTINGS).map(([name, setting]) => [name, setting.initial]);
    this.change({ ...Object.fromEntries(initial), ...this.options.settings });
    this.urls = checkedUrls(this.options.urls);
    this.keys.reset();
    this.faults = new WebhookFaults();
    this.loads = [];
    const holds = new Holds(() => this.queue.wake());
    const { keys, faults, operator, settings, nowMs } = this;
    this.courier = new Courier({ keys, faults, holds, operator, settings, nowMs, ca: this.options.ca });
    this.queue = new WebhookQueue({ courier: this.courier, holds, settings });
  }

  /** Sends nothing more. */
  close() {
    this.queue?.stop();
    this.loads?.forEach((load) => load.stop());
    this.courier?.stop();
    this.release();
  }

  change(settings) {
    for (const [name, value] of Object.entries(settings)) {
      if (!SETTINGS[name]?.isValid(value))
        throw new FaultError(`the setting ${name} does not exist or cannot have this value`);
    }
    return Object.assign(this.settings, settings);
  }

  keySetAnswer() {
    const { cacheControl } = this.settings;
    return jsonAnswer(200, this.keys.document(), cacheControl === null ? {} : { 'Cache-Control': cacheControl });
  }

  /** Every endpoint, and each URL that receives the events of all organizations. */
  endpoints() {
    const ofAll = this.urls.map((url) => ({ organizationId: null, endpointId: null, url }));
    const describe = ({ organizationId, endpointId, url = null }) => ({ organizationId, endpointId, url });
    return [...this.state().webhookEndpoints.map(describe), ...ofAll];
  }

  /**
   * Sets the URLs of an organization's endpoints, in order. Removes the URLs of further endpoints, and creates missing
   * endpoints. Deliveries in progress use the new URL.
   * @param {string | null} organizationId null: sets the URLs that receive the events of all organizations
   * @param {(string | null)[]} urls
   */
  setEndpoints(organizationId, urls) {
    const checked = checkedUrls(urls);
    if (organizationId === null) {
      this.urls = checked;
      return;
    }
    const { organizations, webhookEndpoints } = this.state();
    if (!organizations.has(organizationId)) throw new FaultError(`there is no organization ${organizationId}`);
    const own = webhookEndpoints.filter((endpoint) => endpoint.organizationId === organizationId);
    while (own.length < urls.length) {
      own.push({ organizationId, endpointId: randomUUID() });
      webhookEndpoints.push(own.at(-1));
    }
    own.forEach((endpoint, index) => (endpoint.url = checked[index] ?? undefined));
  }

  /** Sends the activity to the organization's endpoints, if there are any. */
  activityChanged(activity) {
    const { organizationId } = activity;
    const targets = this.#targetsOf(organizationId);
    if (targets.length === 0) return;
    const body = Buffer.from(stringify(activity));
    this.#deliver({ eventId: newEventId(), organizationId, type: events.ACTIVITY_UPDATES, body }, targets);
  }

  /**
   * Sends an event to the organization's endpoints.
   * @param {object} [event]
   * @param {string} [event.organizationId] the organization, and the header's value; default: the fixture's first
   * @param {string} [event.type] the header's value
   * @param {string} [event.eventId] default: a new id
   * @param {string | Buffer} [event.body] default: a minimal activity
   * @param {string} [event.bodyBase64]
   * @param {object} [event.json]
   * @param {string} [event.url] if given, the only URL that receives the event
   * @param {object[]} [event.faults] for attempts at this delivery only
   * @returns {{eventId: string, targets: number, done: Promise<object[]>}} `done` resolves to the deliveries when all
   *     are over
   * @throws {FaultError} if no endpoint would receive it.
   */
  send(event = {}) {
    const unknown = Object.keys(event).filter((name) => !EVENT_OPTIONS.includes(name));
    if (unknown.length > 0) throw new FaultError(`an event has no option ${unknown.join(', ')}`);
    const { organizationId = this.organizationId, type = events.ACTIVITY_UPDATES, eventId = newEventId() } = event;
    const ownFaults = new WebhookFaults();
    ownFaults.add(event.faults ?? []);
    const body = bodyOf(event) ?? Buffer.from(events.simpleActivity({ eventId, organizationId }));
    const targets = this.#targetsFor(organizationId, event.url);
    return this.#deliver({ eventId, organizationId, type, body }, targets, ownFaults);
  }

  /**
   * Sends a balance event. Its header names the parent organization, whose endpoints receive the event.
   * @param {object} [event] `eventId`, `url` and `faults` as for send(), the others as for balanceEvent()
   */
  sendBalance({ organizationId, finality = 'confirmed', numbers = 'number', msg = {}, ...rest } = {}) {
    if (!events.finalities.includes(finality)) {
      throw new FaultError(`finality must be one of ${events.finalities.join(', ')}`);
    }
    if (!['number', 'string'].includes(numbers)) throw new FaultError('numbers must be number or string');
    return this.#sendForParent(organizationId, rest, (about) =>
      events.balanceEvent({ ...about, finality, numbers, msg }),
    );
  }

  /**
   * Sends a transaction's status. Its header names the parent organization, whose endpoints receive the event.
   * @param {object} [event] `eventId`, `url` and `faults` as for send(), the others as for transactionEvent()
   */
  sendTransaction({ organizationId, status = 'INCLUDED', msg = {}, ...rest } = {}) {
    if (!events.transactionStatuses.includes(status)) {
      throw new FaultError(`status must be one of ${events.transactionStatuses.join(', ')}`);
    }
    const nowMs = this.nowMs();
    return this.#sendForParent(organizationId, rest, (about) =>
      events.transactionEvent({ ...about, status, nowMs, msg }),
    );
  }

  #sendForParent(organizationId = this.organizationId, rest, make) {
    const { parentOrganizationId } = this.state().organizations.get(organizationId) ?? {};
    const made = make({ organizationId, parentOrganizationId, idempotencyKey: randomUUID() });
    return this.send({ ...rest, ...made, organizationId: parentOrganizationId ?? organizationId });
  }

  /**
   * Sends many events to the organization's first endpoint. Repeats each until it is acknowledged or refused.
   * @param {object} [wanted]
   * @param {number} [wanted.count]
   * @param {number} [wanted.concurrency] the number of concurrent deliveries
   * @param {number} [wanted.bodyBytes] the length of each body, at least about 130 bytes
   * @param {string[] | string} [wanted.ids] the event ids, or their common prefix
   * @param {string} [wanted.organizationId]
   * @param {string} [wanted.url]
   * @returns {WebhookLoad}
   */
  sendMany({ count = 100, concurrency = 8, bodyBytes = 500, ids, organizationId = this.organizationId, url } = {}) {
    const [target] = this.#targetsFor(organizationId, url);
    const prefix = ids ?? `load-${this.loads.length}-`;
    const list = Array.isArray(ids) ? ids : Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    const { courier, settings } = this;
    const load = new WebhookLoad({ courier, settings, target, ids: list, concurrency, bodyBytes, organizationId });
    this.loads.push(load);
    return load;
  }

  addFaults(faults) {
    this.faults.add(faults);
  }

  clearFaults() {
    this.faults.clear();
  }

  pendingFaults() {
    return this.faults.pending;
  }

  /** The last deliveries, except those of sendMany(). */
  deliveries() {
    return this.queue.list();
  }

  clearDeliveries() {
    this.queue.clear();
  }

  stats() {
    return this.queue.stats();
  }

  waitFor(wanted) {
    return this.queue.waitFor(wanted);
  }

  /** Releases slow bodies. */
  release() {
    return this.queue?.holds.release() ?? 0;
  }

  #deliver(event, targets, ownFaults) {
    const done = Promise.all(targets.map((target) => this.queue.deliver(event, target, ownFaults)));
    return { eventId: event.eventId, targets: targets.length, done: done.then((records) => records.flat()) };
  }

  #targetsFor(organizationId, url) {
    if (url !== undefined) {
      checkedUrls([url]);
      return [{ endpointId: null, url: () => url }];
    }
    const targets = this.#targetsOf(organizationId);
    if (targets.length === 0) throw new FaultError(`no endpoint of ${organizationId} has a URL`);
    return targets;
  }

  /** @returns {import('./webhook_queue.mjs').Target[]} */
  #targetsOf(organizationId) {
    const endpoints = this.state().webhookEndpoints.filter((endpoint) => endpoint.organizationId === organizationId);
    const isLeft = (endpoint) => this.state().webhookEndpoints.includes(endpoint);
    return [
      ...endpoints.map((endpoint) => ({
        endpointId: endpoint.endpointId,
        url: () => (isLeft(endpoint) ? endpoint.url : undefined),
      })),
      ...this.urls.map((_, index) => ({ endpointId: null, url: () => this.urls[index] ?? undefined })),
    ].filter((target) => target.url() !== undefined);
  }
}

const newEventId = () => `evt_${randomUUID()}`;

/** @param {{body?: string | Buffer, bodyBase64?: string, json?: any}} event */
function bodyOf({ body, bodyBase64, json }) {
  if ([body, bodyBase64, json].filter((each) => each !== undefined).length > 1) {
    throw new FaultError('an event has only one body');
  }
  if (bodyBase64 !== undefined) return Buffer.from(bodyBase64, 'base64');
  if (json !== undefined) return Buffer.from(JSON.stringify(json));
  return body === undefined ? undefined : Buffer.from(body);
}

/** Checks the URLs. Unlike the service, which accepts only HTTPS and public addresses, accepts HTTP and any address. */
function checkedUrls(urls) {
  if (!Array.isArray(urls)) throw new FaultError('urls must be a list');
  for (const text of urls.filter((each) => each !== null)) {
    const url = parsedUrl(text);
    if (!['http:', 'https:'].includes(url?.protocol)) throw new FaultError(`${text} is not an HTTP URL`);
    if (url.username !== '' || url.password !== '') throw new FaultError('a webhook URL must not name a user');
  }
  return [...urls];
}

function parsedUrl(text) {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
