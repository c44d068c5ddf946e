// Partitions between a gateway and the PostgreSQL servers of its store: packets are lost, in one direction or in both,
// and no connection is closed. The relays of postgresql_cluster_test.mjs cannot show this: they accept connections, and
// confirm what they have received.
//
// The test runs itself in a network namespace, with each server in another one. It needs no right outside of them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeAuthority } from './certificates.mjs';
import { QUERY, described } from './failures.mjs';
import { HANG_MS, scratch } from './harness.mjs';
import { SUBMIT, submitOf } from './history/callers.mjs';
import { judge } from './history/judge.mjs';
import { Network, isInNetwork, reasonToSkip, runInNetwork } from './network.mjs';
import { Random } from './random.mjs';
import { Scene } from './shared_log_scene.mjs';
import { EARLIEST } from './subscriber.mjs';

const TIMEOUT = { timeout: 10 * HANG_MS };

if (isInNetwork) {
  test('a gateway survives partitions of its network', TIMEOUT, survivesPartitions);
} else {
  test('a gateway survives partitions of its network', { skip: reasonToSkip(), ...TIMEOUT }, async (t) => {
    const { status, output } = await runInNetwork(t, fileURLToPath(import.meta.url));
    assert.equal(status, 0, output);
    for (const [, line] of output.matchAll(/^# (.*: .* ms.*|STAMPGATE.*)$/gm)) t.diagnostic(line);
  });
}

/** Settings of gateways and of servers at these addresses, which then use TLS. Plaintext is for loopback only. */
function encrypted(t, addresses) {
  const folder = scratch(t);
  const authority = makeAuthority(folder, 'database');
  const { cert, key } = authority.issue({ name: addresses.map((address) => `IP:${address}`).join() });
  writeFileSync(join(folder, 'server.pem'), cert);
  writeFileSync(join(folder, 'server.key'), key, { mode: 0o600 });
  const files = [`ssl_cert_file = '${folder}/server.pem'`, `ssl_key_file = '${folder}/server.key'`];
  return { store: { plaintext: false, ca_file: authority.file }, settings: ['ssl = on', ...files] };
}

/** Resolves to what `work` resolves to, and to the time that it needed. */
async function timed(work) {
  const begun = performance.now();
  const result = await work;
  return { result, ms: Math.round(performance.now() - begun) };
}

async function survivesPartitions(t) {
  const network = await Network.create(t);
  const hosts = [await network.addHost(t), await network.addHost(t), await network.addHost(t)];
  const placeOf = (index) => ({ network: hosts[index] });
  const { store, settings } = encrypted(
    t,
    hosts.map(({ address }) => address),
  );
  // The installed programs of version 18 have no TLS.
  const options = { version: 15, size: 3, confirmations: 1, gateways: 1, relayed: false, placeOf, store, settings };
  const scene = await Scene.make(t, new Random(t), options);
  scene.addCallers(t);
  const { cluster, sender, slots } = scene;
  const [slot] = slots;
  // Longer than a gateway waits for a server, so that the sender gets an answer.
  scene.stack.simulator.webhooks.change({ timeoutMs: HANG_MS });

  /** While the gateway is cut off: it refuses what needs the store, and serves the rest. */
  const refuses = async () => {
    const name = randomUUID();
    const keyed = { ...submitOf(name), idempotency_key: name };
    const deadline = { deadlineMs: HANG_MS };
    const { up } = slot;
    const [query, delivery, submit, list] = await Promise.all([
      timed(up.call(QUERY.method, QUERY.request)),
      timed(slot.answers(503)),
      timed(up.refusal(SUBMIT, keyed, deadline)),
      timed(up.refusal('EventService/ListEvents', EARLIEST, deadline)),
    ]);
    const reasonOf = ({ result }) => `${described(result).code} ${described(result).reason}`;
    assert.equal(reasonOf(submit), 'UNAVAILABLE IDEMPOTENCY_UNAVAILABLE');
    assert.equal(reasonOf(list), 'UNAVAILABLE EVENT_LOG_UNAVAILABLE');
    return `query ${query.ms} ms, 503 after ${delivery.ms} ms, submit ${submit.ms} ms, list ${list.ms} ms`;
  };

  const gateway = network.address;
  const cuts = {
    'to the server': () => network.cut(gateway, cluster.primary.address),
    'from the server': () => network.cut(cluster.primary.address, gateway),
    'both ways': () => {
      network.cut(gateway, cluster.primary.address);
      network.cut(cluster.primary.address, gateway);
    },
  };
  for (const [name, cut] of Object.entries(cuts)) {
    await Promise.all([sender.progress(), scene.submits()]);
    await scene.during(async () => {
      cut();
      const times = await refuses();
      network.heal();
      const { ms } = await timed(Promise.all([slot.answers(200), sender.progress()]));
      t.diagnostic(`packets ${name} lost: ${times}; recovered after ${ms} ms`);
    });
  }

  // The primary is cut off from everybody, and then comes back beside its successor.
  await Promise.all([sender.progress(), scene.submits()]);
  await scene.during(async () => {
    const { address } = cluster.primary;
    network.cut(undefined, address);
    network.cut(address, undefined);
    const times = await refuses();
    const old = await cluster.failOver();
    const { ms } = await timed(sender.progress());
    network.heal();
    await Promise.all([sender.progress(), scene.submits()]);
    await old.kill();
    await cluster.rewind(old);
    t.diagnostic(`primary cut off: ${times}; events are stored ${ms} ms after the promotion`);
  });
  await Promise.all([sender.progress(), scene.submits()]);
  const history = await scene.end();
  t.diagnostic(
    `${history.log.length} events, ${history.requests.length} submits; answers: ${JSON.stringify(sender.answers)}`,
  );
  assert.deepEqual(judge(history), []);
}
