// The honest callers and senders of a round, as a process of their own, so that the attackers do not delay their clocks.
// Each begins a call or a delivery at a fixed interval, also while earlier ones are not answered. Sends "ready" to its
// parent; receives the place, then the phases; and sends its samples at the end.
import http from 'node:http';
import { call, code } from '../../clients/gateway.mjs';
import { readFixture } from '../../simulator/server.mjs';
import { ORGANIZATION } from '../../simulator/testing.mjs';
import { WebhookKeys } from '../../simulator/webhook_keys.mjs';
import { delivery } from '../raw_deliveries.mjs';
import { organizationWith } from './organizations.mjs';
import { HONEST, channel } from './parties.mjs';

const SENDERS = 10;
const INTERVAL_MS = 200;
/** The time in which each call and each delivery must end. */
const DEADLINE_MS = 20_000;
/** Events, which attackers read, by their names: how many there are, and their size. */
const EVENTS = { medium: [64, 100_000], large: [16, 2 << 20] };

const organization_id = organizationWith();
/** A method and a request. @type {[string, object]} */
const QUERY = ['PolicyService/GetPolicy', { organization_id, policy_id: 'policy' }];
/** @type {[string, object]} */
const SUBMIT = [
  'OrganizationService/UpdateOrganizationName',
  { organization_id, parameters: { organization_name: 'name' } },
];

const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

const signer = {
  webhooks: {
    organizationId: ORGANIZATION,
    keys: new WebhookKeys(readFixture().webhookKeys, 'service'),
    operator: 'service',
  },
};

/** Delivers an event. Rejects with the status, or the error of the connection. */
function deliver(url, agent, event) {
  const { headers, body } = delivery(signer, event);
  const fields = Object.fromEntries([...headers, ['Content-Length', body.length]]);
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', agent, headers: fields, timeout: DEADLINE_MS }, (response) => {
      response.resume();
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
    request.end(body);
  });
}

class Party {
  #running = new Set();
  samples = {};

  /** @param {((number: number) => Promise<unknown>)[]} members what each member does at each interval */
  constructor(members) {
    this.timers = members.map((act, index) => {
      let number = 0;
      const begin = () => this.#measure(() => act((number += 1)));
      // The members do not all begin at once.
      return setTimeout(
        () => (this.timers[index] = setInterval(begin, INTERVAL_MS)),
        (INTERVAL_MS * index) / members.length,
      );
    });
  }

  /** What begins from now on is counted in this phase. Without a phase, nothing is counted. */
  enter(phase) {
    this.phase = phase;
    if (phase) this.samples[phase] = { answeredMs: [], failed: {} };
  }

  /** Resolves to the samples when everything has ended. */
  async end() {
    for (const timer of this.timers) clearInterval(timer);
    await Promise.all(this.#running);
    return this.samples;
  }

  #measure(act) {
    const { answeredMs, failed } = this.samples[this.phase] ?? { answeredMs: [], failed: {} };
    const begin = performance.now();
    const failure = (error) => {
      const name = error.info?.reason ?? nameOf(error.code) ?? error.message;
      failed[name] = (failed[name] ?? 0) + 1;
    };
    const done = act().then(() => answeredMs.push(Math.round(performance.now() - begin)), failure);
    this.#running.add(done);
    done.then(() => this.#running.delete(done));
  }
}

async function begin({ address, webhookUrl, tlsOf }) {
  const agent = new http.Agent({ keepAlive: true });
  for (const [name, [count, bytes]] of Object.entries(EVENTS)) {
    const body = Buffer.from(`{"id":"${'x'.repeat(bytes - 9)}"}`);
    for (let index = 0; index < count; ++index) await deliver(webhookUrl, agent, { eventId: `${name}-${index}`, body });
  }
  const channels = HONEST.map((name) => channel(address, tlsOf[name]));
  await Promise.all(channels.map((client) => call(client, ...QUERY)));
  const callers = channels.map((client) => (number) => {
    const [method, request] = number % 4 === 0 ? SUBMIT : QUERY;
    return call(client, method, request, { deadlineMs: DEADLINE_MS });
  });
  const senders = Array.from({ length: SENDERS }, (_, index) => {
    const own = new http.Agent({ keepAlive: true });
    return (number) => deliver(webhookUrl, own, { eventId: `honest-${index}-${number}` });
  });
  return { callers: new Party(callers), senders: new Party(senders) };
}

let parties;
const handlers = {
  async begin(place) {
    parties = await begin(place);
    return 'begun';
  },
  enter(phase) {
    for (const party of Object.values(parties)) party.enter(phase);
    return 'entered';
  },
  async end() {
    const samples = Object.entries(parties).map(async ([name, party]) => [name, await party.end()]);
    return Object.fromEntries(await Promise.all(samples));
  },
};
process.on('message', async ([name, argument]) => process.send(await handlers[name](argument)));
process.on('disconnect', () => process.exit());
process.send('ready');
