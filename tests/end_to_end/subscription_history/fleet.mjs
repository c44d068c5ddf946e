// The gateways of a round that share a store on a cluster of PostgreSQL servers. Time passes for all of them at once,
// also for the servers.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Machine } from '../../machine/machine.mjs';
import { PostgresCluster } from '../../postgresql/cluster.mjs';
import { Pool } from '../../postgresql/pool.mjs';
import { Relay } from '../../postgresql/relay.mjs';
import { scratch } from '../harness.mjs';
import { until } from '../processes.mjs';
import { Slot } from '../shared_log_scene.mjs';
import { SharedLogStack } from '../shared_log_stack.mjs';

export const GATEWAYS = 3;
/** How often consumers choose the gateway that does not answer, while others do: one time in so many. */
const RARELY = 10;
/** What a gateway logs again and again during a fault. */
const USUAL = ['delivery_not_stored', 'call_failed', 'subscription_not_stored', 'unrecognized', 'config_warnings'];
const MAX_STARTS = 3;
/** A look at the store starts a process. */
const LOOK_MS = 100;

export class Fleet {
  /** @type {PostgresCluster} */
  cluster;
  /** @type {SharedLogStack} */
  stack;
  /** @type {Slot[]} */
  slots = [];
  /** The slot whose gateway does not answer at the moment. @type {Slot | undefined} */
  silent;
  /** Whether no further gateway starts. */
  isOver = false;
  /** @type {import('../random.mjs').Random} */
  #random;
  /** The indexes of gateways. */
  #numbers = new Map();
  /** By how much the clocks of gateways and upstream, and that of the servers, are ahead of the system's. */
  #offsetMs = 0;
  #serverOffsetMs = 0;

  /**
   * Starts a cluster. Starts no gateway. Everything ends with the test `t`.
   * @param {object} t
   * @param {import('../random.mjs').Random} random
   * @param {object} options
   * @param {boolean} options.pooled whether a pool is between the gateways and each server
   */
  static async make(t, random, { pooled }) {
    const fleet = new Fleet();
    fleet.#random = random;
    fleet.cluster = await PostgresCluster.create(t, { version: 18, confirmations: 1 });
    const { hosts, servers } = fleet.cluster;
    // A gateway that is stopped does not end.
    t.after(() => fleet.slots.forEach(({ up }) => up?.child.kill('SIGCONT')));
    fleet.stack = await SharedLogStack.prepare(t, { hosts });
    fleet.simulator.webhooks.change({ timeoutMs: 1000 });
    const ends = pooled ? await Promise.all(servers.map((server) => Pool.create(t, server))) : servers;
    for (let index = 0; index < GATEWAYS; ++index) {
      const relays = await Promise.all(ends.map((end) => Relay.create(t, end)));
      const machine = new Machine(join(scratch(t), 'machine'), scratch(t));
      t.after(() => machine.close());
      fleet.slots.push(new Slot(fleet.stack, machine, relays));
    }
    return fleet;
  }

  get simulator() {
    return this.stack.simulator;
  }

  /** A gateway that runs; rarely the one that does not answer. */
  get up() {
    const running = this.slots.filter(({ up }) => up !== undefined);
    const answering = running.filter((slot) => slot !== this.silent);
    const isRare = answering.length === 0 || this.#random.below(RARELY) === 0;
    const slot = this.#random.pick(isRare ? running : answering);
    if (slot !== undefined) this.#numbers.set(slot.up, this.slots.indexOf(slot));
    return slot?.up;
  }

  /** Resolves to a gateway as soon as one is running; to undefined after end(). */
  async gateway() {
    await until(() => this.isOver || this.up !== undefined, 'a gateway runs');
    return this.isOver ? undefined : this.up;
  }

  /** The index of the slot of a gateway that `up` has returned. */
  numberOf(gateway) {
    return this.#numbers.get(gateway);
  }

  /** Starts all gateways. The first one creates the store. */
  async start() {
    for (const slot of this.slots) await this.startSlot(slot);
  }

  /** Starts a gateway. On a busy machine, a server can answer too late for it: it then ends, and starts again. */
  async startSlot(slot) {
    for (let tries = 1; ; ++tries) {
      try {
        return await slot.start();
      } catch (error) {
        if (tries === MAX_STARTS) throw error;
      }
    }
  }

  /** Ends all gateways, which complete their calls. */
  async stop() {
    await Promise.all(this.slots.map((slot) => slot.stop()));
  }

  /** Starts no further gateway. */
  end() {
    this.isOver = true;
  }

  /** Delivers an event to one gateway after another until it is acknowledged, as upstream does with one address. */
  async deliver({ eventId, organizationId, json }) {
    const { courier } = this.simulator.webhooks;
    const event = { eventId, organizationId, type: 'ACTIVITY_UPDATES', body: Buffer.from(JSON.stringify(json)) };
    for (let number = 1; !this.isOver; ++number) {
      const url = this.up?.webhookUrl;
      const { status } = url ? await courier.attempt(event, url, number) : {};
      if (status === 200) return;
      await pause(20);
    }
  }

  /** The last lines of the logs of all gateways, also of those that have ended. */
  lastLines(count) {
    return this.stack.gateways.flatMap(({ output }, index) => {
      const lines = output.trim().split('\n');
      const others = lines.filter((line) => !USUAL.some((event) => line.includes(`"event":"${event}"`)));
      return others.slice(-count).map((line) => `gateway ${index}: ${line}`);
    });
  }

  // --- Time.

  /** The time by the clocks of the gateways. */
  nowMs() {
    return Date.now() + this.#offsetMs;
  }

  /** Advances the clocks of gateways, servers and upstream. */
  async passTime(ms) {
    this.#offsetMs += Math.ceil(ms);
    this.simulator.change({ clockOffsetMs: this.#offsetMs });
    for (const { machine } of this.slots) machine.clockOffsetMs = this.#offsetMs;
    await this.stepServers(Math.ceil(ms));
  }

  /** Steps the clock of the servers only. The store's functions read no other one. */
  async stepServers(ms) {
    this.#serverOffsetMs += ms;
    await this.cluster.primary.sql(`
      CREATE OR REPLACE FUNCTION stampgate.server_us() RETURNS bigint LANGUAGE sql VOLATILE AS $$
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + ${this.#serverOffsetMs * 1000}
      $$`);
  }

  // --- Health.

  /** Resolves when the cluster is whole, each gateway has renewed its hold since now, and answers. */
  async healed() {
    const { primary } = this.cluster;
    await this.cluster.isLevel();
    const since = await primary.sql('SELECT stampgate.server_us()');
    const renewed = `SELECT count(*) FROM stampgate.subscription_holds WHERE holder <> '' AND renewed_us > ${since}`;
    const areRenewed = async () => {
      await pause(LOOK_MS);
      return Number(await primary.sql(renewed)) >= this.slots.length;
    };
    await until(areRenewed, 'each gateway has renewed its hold');
  }

  /** Resolves when no partition belongs to a gateway that is gone. */
  async divided() {
    const { primary } = this.cluster;
    const since = await primary.sql('SELECT stampgate.server_us()');
    const gone = `SELECT count(*) FROM stampgate.subscription_holds
      WHERE holder <> '' AND partitions <> '{}' AND renewed_us <= ${since}`;
    await until(async () => {
      await pause(LOOK_MS);
      return (await primary.sql(gone)) === '0';
    }, 'gateways have taken the partitions of those that are gone');
  }
}
