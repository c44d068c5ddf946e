// A rolling restart of three gateways with one store: no call of a client with the published service config fails, no
// event is lost, and each subscription continues.
//
// With STAMPGATE_LONG=1 the test uses 20 restarts of each gateway instead of one.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { call, connect } from '../clients/gateway.mjs';
import { root } from '../paths.mjs';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { QUERY, described } from './failures.mjs';
import { Gateway, HANG_MS } from './harness.mjs';
import { Follower, seen } from './history/follower.mjs';
import { judge } from './history/judge.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { Sender } from './shared_log_scene.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { listAll } from './subscriber.mjs';

const RESTARTS = LONG ? 20 : 1;
/** How many calls and events succeed between two restarts. */
const PROGRESS = 300;
const CALL_INTERVAL_MS = 5;

/** A gateway that has the same address after each restart, as a pod of a StatefulSet has the same name. */
class Replica {
  /** No other process connects from or listens at this address, so that the port stays free during a restart. */
  constructor(stack, number) {
    Object.assign(this, { stack, config: { ...stack.config(), listen_address: `127.0.77.${number}:0` } });
  }

  async start() {
    this.up = await Gateway.start(this.config, { folder: this.stack.folder });
    this.config.listen_address = this.up.address;
  }

  async restart() {
    const { up } = this;
    this.up = undefined;
    assert.deepEqual(await up.stop(), { status: 0, signal: null }, up.output);
    await this.start();
  }

  /** For a Follower. */
  async gateway() {
    await until(() => this.up !== undefined, 'the replica runs');
    return this.up;
  }
}

/** Makes a call every 5 ms, over connections to all replicas. */
class Calls {
  #stop = false;
  succeeded = 0;
  failures = [];

  constructor(replicas) {
    const config = JSON.parse(readFileSync(join(root, 'proto/service_config.json'), 'utf8'));
    this.client = connect(`ipv4:${replicas.map(({ up }) => up.address).join(',')}`, {
      'grpc.service_config': JSON.stringify({ ...config, loadBalancingConfig: [{ round_robin: {} }] }),
    });
    this.done = this.#work();
  }

  /** Resolves when the calls in progress have ended. */
  stop() {
    this.#stop = true;
    return this.done;
  }

  async progress() {
    const wanted = this.succeeded + PROGRESS;
    await until(() => this.succeeded >= wanted, `${PROGRESS} more calls succeed`);
  }

  async #work() {
    const calls = new Set();
    while (!this.#stop) {
      const one = call(this.client, QUERY.method, QUERY.request).then(
        () => (this.succeeded += 1),
        (error) => this.failures.push(described(error)),
      );
      calls.add(one);
      one.finally(() => calls.delete(one));
      await pause(CALL_INTERVAL_MS);
    }
    await Promise.all(calls);
  }
}

test('a rolling restart fails no call and loses no event', { timeout: (LONG ? 60 : 3) * HANG_MS }, async (t) => {
  const cluster = await PostgresCluster.create(t, { size: 2 });
  const stack = await SharedLogStack.prepare(t, { hosts: cluster.hosts });
  stack.simulator.webhooks.change({ timeoutMs: 1000 });
  const replicas = [1, 2, 3].map((number) => new Replica(stack, number));
  t.after(() => replicas.forEach(({ up }) => up?.child.kill('SIGKILL')));
  for (const replica of replicas) await replica.start();
  const calls = new Calls(replicas);
  t.after(() => (calls.stop(), calls.client.close()));
  const random = new Random(t);
  const sender = new Sender(stack.simulator, random, replicas);
  t.after(() => sender.abandon());
  const stayers = replicas.map((replica, index) => new Follower(replica, `of gateway ${index}`));
  // As with a load balancer, these subscribers resume at any gateway that runs.
  const balanced = { gateway: async () => random.pick(replicas.filter(({ up }) => up !== undefined)).up };
  const movers = replicas.map((_, index) => new Follower(balanced, `${index} of all gateways`));
  const followers = [...stayers, ...movers];
  t.after(() => Promise.all(followers.map((follower) => follower.stop())));

  for (let restart = 0; restart < RESTARTS; ++restart) {
    for (const replica of replicas) {
      await Promise.all([calls.progress(), sender.progress(PROGRESS)]);
      await replica.restart();
    }
  }
  await Promise.all([calls.progress(), sender.progress(PROGRESS)]);
  await Promise.all([calls.stop(), sender.stop()]);
  const log = (await listAll(replicas[0].up)).map(seen);
  await until(() => followers.every(({ events }) => events.length >= log.length), 'every subscriber has the log');
  await Promise.all(followers.map((follower) => follower.stop()));
  for (const { up } of replicas) assert.deepEqual(await up.stop(), { status: 0, signal: null }, up.output);

  assert.deepEqual(calls.failures, []);
  const history = {
    ...{ sent: sender.sent, acknowledged: sender.acknowledged, log, subscribers: followers },
    ...{ attempts: [], requests: [], faults: [] },
  };
  assert.deepEqual(judge(history), []);
  t.diagnostic(`${calls.succeeded} calls, ${log.length} events, answers: ${JSON.stringify(sender.answers)}`);
  const times = (list) =>
    list
      .flatMap(({ resumedAfterMs }) => resumedAfterMs)
      .sort((a, b) => a - b)
      .join(', ');
  t.diagnostic(`streams resumed at any gateway after ${times(movers)} ms`);
  t.diagnostic(`streams resumed at the restarted gateway after ${times(stayers)} ms`);
});
