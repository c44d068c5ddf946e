// Attacks on the gRPC port, by clients without a certificate, by clients whose certificate belongs to no caller, and by
// a caller. During each attack the gateway uses little memory and no further threads, and answers its other callers.
//
// With STAMPGATE_LONG=1 the test sends random frames on 5,000 connections of each party instead of 100. Memory is not
// measured in a sanitizer's build.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { call, stream } from '../clients/gateway.mjs';
import { binary } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { FLOODS, randomFrame } from './attacks/frame_floods.mjs';
import { ACCOUNT_BYTES, MOST_RESIDENT_BYTES } from './attacks/judge.mjs';
import { ATTACKERS, callersOf, channel, makeTls } from './attacks/parties.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS, auditConfig, scratch, startGateway } from './harness.mjs';
import {
  END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, Http2Attacker, clientHello, connectAndSend, headersOf, leaveHandshake,
} from './http2_attacker.mjs'; // prettier-ignore
import { LONG, descriptorsOf, isSanitized, residentBytes, until } from './processes.mjs';
import { Random } from './random.mjs';
import { frame } from './raw_http2.mjs';
import { LATEST, Subscriber, idsOf } from './subscriber.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const PATH = '/stampgate.v1.PolicyService/GetPolicy';
const MEBIBYTE = 1 << 20;
/** The most resident memory after the attacks. */
const MOST_AFTERWARDS = 128 * MEBIBYTE;
/**
 * The gateway may have this many threads more than before the first attack: while all threads of gRPC's pool are busy,
 * gRPC starts another one from time to time, also for calls that are reset. A thread for each stream would be a
 * thousand.
 */
const MORE_THREADS = 64;
const timeout = LONG ? 60 * HANG_MS : 4 * HANG_MS;
const sanitized = isSanitized();

const CALLERS = callersOf(['honest', ...ATTACKERS], { classes: ['query', 'events'] });

/** Callers that call continuously, each on a connection of its own. */
class HonestCallers {
  static COUNT = 20;
  failures = [];
  #counts = Array.from({ length: HonestCallers.COUNT }, () => 0);
  #done = false;

  constructor(address, tls) {
    this.loops = this.#counts.map(async (_, index) => {
      const client = channel(address, tls);
      while (!this.#done) {
        await call(client, ...QUERY).then(
          () => (this.#counts[index] += 1),
          (error) => this.failures.push(error),
        );
        await pause(50); // so that the callers do not use the whole CPU
      }
      client.close();
    });
  }

  get count() {
    return this.#counts.reduce((sum, count) => sum + count);
  }

  /** Resolves when each caller has had a response to a call that began after this function was called. */
  async areAnswered() {
    const begin = [...this.#counts];
    await until(
      () => this.failures.length > 0 || this.#counts.every((count, index) => count >= begin[index] + 2),
      'each honest caller has had a response',
    );
    assert.deepEqual(this.failures, []);
  }

  async stop() {
    this.#done = true;
    await Promise.all(this.loops);
  }
}

/** Waits until a call on a new connection is answered within a second. Resolves to the whole time in milliseconds. */
async function acceptsCaller(address, tls) {
  const isAnswered = async () => {
    const client = channel(address, tls);
    try {
      await call(client, ...QUERY, { deadlineMs: 1000 });
      return true;
    } catch {
      return false;
    } finally {
      client.close();
    }
  };
  const begin = performance.now();
  await until(isAnswered, 'a call on a new connection is answered within a second');
  return Math.round(performance.now() - begin);
}

/** The number of threads of the process. */
const threadsOf = (pid) => Number(/^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

/** Looks at the memory and the threads of a process until stop(). */
class Watch {
  bytes = 0;
  threads = 0;

  /** `before` is the number of threads before the first attack. */
  constructor(pid, before) {
    this.pid = pid;
    this.before = before;
    this.begin = residentBytes(pid);
    this.timer = setInterval(() => this.#look(), 5);
  }

  stop() {
    clearInterval(this.timer);
    this.#look();
  }

  /** The figures as text. */
  get text() {
    const [from, to] = [this.begin, this.bytes].map((bytes) => Math.round(bytes / MEBIBYTE));
    return `${from} to ${to} MiB, threads ${this.before} to ${this.threads}`;
  }

  check() {
    if (!sanitized) assert.ok(this.bytes <= MOST_RESIDENT_BYTES, this.text);
    assert.ok(this.threads <= this.before + MORE_THREADS, this.text);
  }

  #look() {
    this.bytes = Math.max(this.bytes, residentBytes(this.pid));
    this.threads = Math.max(this.threads, threadsOf(this.pid));
  }
}

const sumOf = (metrics, family) =>
  [...metrics].filter(([name]) => name.startsWith(`${family}{`)).reduce((sum, [, value]) => sum + value, 0);
const CLOSED = 'stampgate_connections_closed_total';
const FAILED = 'stampgate_tls_handshakes_failed_total';

const PARTIES = [
  { title: 'a client without a certificate', names: ['nobody'], reason: 'no_certificate' },
  { title: 'a client whose certificate belongs to no caller', names: ['stranger'], reason: 'no_caller' },
  { title: 'a caller', names: ATTACKERS },
];

describe(
  'the gateway uses little memory and no further threads, and answers 20 other callers, during',
  { timeout },
  async () => {
    const folder = scratch({ after });
    const { section: tls, tlsOf } = makeTls(folder, ['honest', ...ATTACKERS]);
    const clients = [];
    after(() => clients.forEach((client) => client.close()));
    after(() => honest.stop()); // before the gateway ends
    const { simulator, gateway } = await startEventStack(
      { after },
      { folder, config: { tls, admin: ADMIN, audit: await auditConfig(folder), callers: CALLERS, reflection: true } },
    );
    const { address } = gateway;
    const { pid } = gateway.child;
    const subscribers = [];
    let honest;
    let idle;
    let threads;

    before(async () => {
      honest = new HonestCallers(address, tlsOf.honest);
      clients.push(...Array.from({ length: 100 }, () => channel(address, tlsOf.honest)));
      const started = clients.map((client) =>
        Subscriber.start({ stream: (...request) => stream(client, ...request) }, LATEST),
      );
      subscribers.push(...(await Promise.all(started)));
      await honest.areAnswered();
      idle = residentBytes(pid);
      threads = threadsOf(pid);
    });

    const metrics = () => metricsOf(gateway);
    const failedHandshakes = async (reason) => (await metrics()).get(`${FAILED}{reason="${reason}"}`);
    const closedBecauseOf = async (reasons) => {
      const now = await metrics();
      return reasons.reduce((sum, reason) => sum + now.get(`${CLOSED}{reason="${reason}"}`), 0);
    };

    /**
     * Runs an attack, which may return connections that stay open. Checks the memory, the threads and the other callers
     * before these connections end.
     */
    async function withstand(t, attack) {
      const watch = new Watch(pid, threads);
      const count = honest.count;
      const begin = performance.now();
      const left = await attack();
      await honest.areAnswered();
      watch.stop();
      const seconds = (performance.now() - begin) / 1000;
      for (const each of left) each.destroy();
      const accepted = await acceptsCaller(address, tlsOf.honest);
      t.diagnostic(
        `${watch.text}, ${honest.count - count} calls in ${seconds.toFixed(1)} s, a new one after ${accepted} ms`,
      );
      if (!sanitized) await returnMemory();
      watch.check();
    }

    /** Makes the gateway return free memory to the system, so that the next attack begins with little memory. */
    async function returnMemory() {
      if (residentBytes(pid) <= idle + 32 * MEBIBYTE) return;
      const isSmall = async () => {
        gateway.child.kill('SIGHUP');
        await honest.areAnswered();
        return residentBytes(pid) <= MOST_AFTERWARDS;
      };
      await until(isSmall, 'the memory is small', 10_000);
    }

    for (const { title: party, names, reason } of PARTIES) {
      for (const attack of FLOODS) {
        const limits = attack.limits ?? [];
        test(`${attack.title}, from ${party}`, { timeout }, async (t) => {
          const [closed, failed] = [await closedBecauseOf(limits), reason && (await failedHandshakes(reason))];
          const allClosed = sumOf(await metrics(), CLOSED);
          await withstand(t, async () => {
            const open = (index) =>
              Http2Attacker.open(address, tlsOf[names[index % Math.min(attack.identities ?? 1, names.length)]]);
            const attackers = await attack.run(open);
            if (reason) {
              await until(() => attackers.every((each) => each.closed), 'the gateway has closed each connection');
              for (const each of attackers) assert.equal(each.frames, 0);
              await until(
                async () => (await failedHandshakes(reason)) >= failed + attackers.length,
                'the metric counts the handshakes',
              );
              assert.equal(sumOf(await metrics(), CLOSED), allClosed);
              return attackers;
            }
            const isRefused = ({ ended }) => attack.requests !== undefined && ended.size >= attack.requests;
            if (attack.limits || attack.requests) {
              await until(
                () => attackers.every((each) => each.closed || isRefused(each)),
                'the gateway has ended each connection or its calls',
              );
            }
            const expelled = attackers.filter((each) => each.closed && !isRefused(each));
            for (const { goAways } of attack.isEndedByGrpc ? [] : expelled) {
              assert.ok(
                goAways.some(({ code }) => code === ENHANCE_YOUR_CALM),
                JSON.stringify(goAways),
              );
            }
            const texts = new Set(expelled.flatMap(({ goAways }) => goAways.map(({ text }) => text)));
            const refused = attackers.reduce((sum, { ended }) => sum + ended.size, 0);
            t.diagnostic(
              `${expelled.length} of ${attackers.length} connections ended, ${refused} calls ended; ${[...texts].join('; ')}`,
            );
            if (!attack.isEndedByGrpc) {
              await until(
                async () => (await closedBecauseOf(limits)) >= closed + expelled.length,
                'the metric counts the connections',
              );
            }
            return attackers;
          });
        });
      }
    }

    for (const { title: party, names, reason } of PARTIES) {
      const connections = LONG ? 5000 : 100;
      test(`random frames on ${LONG ? '5,000' : '100'} connections, from ${party}`, { timeout }, async (t) => {
        const random = new Random(t);
        const failed = reason && (await failedHandshakes(reason));
        await withstand(t, async () => {
          let next = 0;
          const attackers = [];
          const work = async () => {
            while (next < connections) {
              next += 1;
              const frames = Buffer.concat(Array.from({ length: 1 + random.below(40) }, () => randomFrame(random)));
              const attacker = await Http2Attacker.open(address, tlsOf[names[0]]);
              await attacker.send(frames);
              await attacker.leave();
              attackers.push(attacker);
            }
          };
          await Promise.all(Array.from({ length: 10 }, work));
          if (!reason) return attackers;
          for (const each of attackers) assert.equal(each.frames, 0);
          await until(
            async () => (await failedHandshakes(reason)) >= failed + connections,
            'the metric counts the handshakes',
          );
          return attackers;
        });
      });
    }

    /** Calls `begin` this many times. No more than 1,000 of the sockets that it returns are open at the same time. */
    async function leaveHandshakes(count, begin) {
      const open = new Set();
      for (let begun = 0; begun < count; begun += 100) {
        await until(() => open.size <= 900, 'the gateway closes connections');
        const sockets = await Promise.all(Array.from({ length: 100 }, (_, index) => begin(begun + index)));
        for (const socket of sockets) {
          if (socket.destroyed) continue;
          open.add(socket);
          socket.on('close', () => open.delete(socket));
        }
      }
      return [...open];
    }
    const unfinished = async () => (await failedHandshakes('unfinished')) + (await failedHandshakes('no_hello'));

    test(
      '8,000 handshakes that are begun and left, half of them without a byte, from clients without a certificate',
      { timeout },
      async (t) => {
        const hello = await clientHello(tlsOf.nobody);
        const failed = await unfinished();
        await withstand(t, async () => {
          const left = await leaveHandshakes(8000, (index) =>
            connectAndSend(address, index % 2 === 0 ? hello : Buffer.alloc(0)),
          );
          // The flood comes from another source address, so the handshake of this client is not displaced.
          const other = await Http2Attacker.open(address, { ...tlsOf.attacker, localAddress: '127.0.0.2' });
          await until(() => other.frames > 0, 'a client with another source address is accepted during the flood');
          return [...left, other];
        });
        await until(async () => (await unfinished()) >= failed + 8000, 'the metric counts the handshakes');
      },
    );

    for (const { title: party, names } of PARTIES.slice(1)) {
      test(`300 handshakes that are left in the middle, from ${party}`, { timeout }, async (t) => {
        const failed = await unfinished();
        await withstand(t, () => leaveHandshakes(300, () => leaveHandshake(address, tlsOf[names[0]])));
        await until(async () => (await unfinished()) >= failed + 300, 'the metric counts the handshakes');
      });
    }

    test('an event that is delivered after all attacks reaches all 100 subscribers', { timeout }, async () => {
      const { eventId, status } = await deliver(simulator);
      assert.equal(status, 200);
      for (const subscriber of subscribers) assert.deepEqual(idsOf(await subscriber.events(1)), [eventId]);
    });

    test(
      'after a SIGHUP the gateway uses at most 128 MiB',
      { timeout, skip: sanitized && 'a sanitizer does not reuse freed memory' },
      async (t) => {
        const attacked = residentBytes(pid);
        gateway.child.kill('SIGHUP');
        const isSmall = () => residentBytes(pid) <= MOST_AFTERWARDS;
        await until(isSmall, 'the memory is small');
        const figures = [idle, attacked, residentBytes(pid)].map((bytes) => Math.round(bytes / MEBIBYTE));
        t.diagnostic(
          `${figures[0]} MiB before the attacks, ${figures[1]} MiB after them, ${figures[2]} MiB after the SIGHUP`,
        );
      },
    );
  },
);

describe('a gateway that may open 1,024 files', { timeout }, async () => {
  const folder = scratch({ after });
  const { section: tls, tlsOf } = makeTls(folder, ['honest', ...ATTACKERS]);
  const command = join(folder, 'limited');
  writeFileSync(command, `#!/bin/sh\nulimit -n 1024 && exec '${binary('gateway/stampgate')}' "$@"\n`, { mode: 0o755 });
  const simulator = await startSimulator();
  after(() => simulator.close());
  let honest;
  after(() => honest.stop()); // before the gateway ends
  const gateway = await startGateway(
    { after },
    simulator,
    { tls, admin: ADMIN, callers: CALLERS },
    { folder, command },
  );
  const { address } = gateway;
  const { pid } = gateway.child;
  let threads;
  before(async () => {
    honest = new HonestCallers(address, tlsOf.honest);
    await honest.areAnswered();
    threads = threadsOf(pid);
  });

  const silent = async (open) => {
    const connections = [];
    for (let count = 0; count < 1100; count += 100) {
      connections.push(...(await Promise.all(Array.from({ length: 100 }, open))));
    }
    return connections;
  };
  for (const [party, open] of [
    ['a client without a certificate', () => connectAndSend(address, Buffer.alloc(0))],
    ['a client whose certificate belongs to no caller', () => Http2Attacker.open(address, tlsOf.stranger)],
    ['a caller', () => Http2Attacker.open(address, tlsOf.attacker)],
  ]) {
    test(
      `answers 20 callers during 1,100 silent connections of ${party}, and accepts another caller`,
      { timeout },
      async (t) => {
        assert.equal((await metricsOf(gateway)).get('process_max_fds'), 1024);
        await honest.areAnswered();
        const watch = new Watch(pid, threads);
        const connections = await silent(open);
        await honest.areAnswered();
        const descriptors = descriptorsOf(pid);
        watch.stop();
        for (const each of connections) each.destroy();
        t.diagnostic(`${descriptors} descriptors, ${watch.text}`);
        watch.check();
        await acceptsCaller(address, tlsOf.honest);
      },
    );
  }

  test('has closed the connections of a caller beyond 512', { timeout }, async () => {
    await until(
      async () => (await metricsOf(gateway)).get(`${CLOSED}{reason="connections_of_all"}`) >= 1100 - 512,
      'the metric counts them',
    );
  });
});

describe('a gateway with the highest limits', { timeout }, async () => {
  const folder = scratch({ after });
  const { section: tls, tlsOf } = makeTls(folder, ['honest', ...ATTACKERS]);
  const simulator = await startSimulator();
  after(() => simulator.close());
  const GIBIBYTE = 1024 * MEBIBYTE;
  const connections = {
    max_streams: 65_536,
    max_header_bytes: 65_536,
    max_resets_per_second: 100_000,
    max_control_frames_per_second: 100_000,
    max_bytes_per_connection: GIBIBYTE,
    max_bytes_per_identity: GIBIBYTE,
    max_bytes: 16 * GIBIBYTE,
  };
  const gateway = await startGateway(
    { after },
    simulator,
    { tls, admin: ADMIN, callers: CALLERS, connections },
    { folder },
  );
  const { address } = gateway;

  test('holds more than 256 MiB for 512 half-sent requests of 1 MiB of a caller', { timeout }, async (t) => {
    const attacker = await Http2Attacker.open(address, tlsOf.attacker);
    await attacker.sendHalf(PATH, 512, MEBIBYTE);
    assert.ok(!attacker.closed);
    const held = async () => (await metricsOf(gateway)).get('stampgate_connection_held_bytes');
    await until(async () => (await held()) > ACCOUNT_BYTES, 'the gateway holds the requests');
    const resident = residentBytes(gateway.child.pid);
    t.diagnostic(`${Math.round((await held()) / MEBIBYTE)} MiB held, ${Math.round(resident / MEBIBYTE)} MiB resident`);
    assert.ok(resident > ACCOUNT_BYTES);
    attacker.destroy();
  });

  test('does not end a connection because of 20,000 calls that are reset at once', { timeout }, async () => {
    const attacker = await Http2Attacker.open(address, tlsOf.attacker);
    await attacker.reset(PATH, 20_000);
    const [last] = attacker.streams(1);
    await attacker.send(frame(HEADERS, END_HEADERS | END_STREAM, last, headersOf('/nothing')));
    await until(() => attacker.closed || attacker.ended.has(last), 'a call after these calls has a response');
    assert.deepEqual([attacker.closed, attacker.goAways], [false, []]);
    attacker.destroy();
  });
});
