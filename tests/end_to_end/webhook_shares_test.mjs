// One source that knows the webhook path and does all that it can uses no more memory than `webhooks.max_bytes`, and
// does not affect honest senders, whether they have other addresses or the same one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { connectTo, delivery, exchangeBytes, requestOf } from './raw_deliveries.mjs';
import { startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { isSanitized, peakResidentBytes, residentBytes, until } from './processes.mjs';
import { listAll } from './subscriber.mjs';

const MEBIBYTE = 1 << 20;
const MAX_BODY_BYTES = 4 * MEBIBYTE;
/** The default of webhooks.max_bytes. */
const MAX_BYTES = 64 * MEBIBYTE;
/** What the process may need beside that: two bodies that are being verified, and what the allocator keeps. */
const MORE_BYTES = 32 * MEBIBYTE;

const bodyBytes = Buffer.alloc(MAX_BODY_BYTES, 'a');

/** Connections of one source that attack the webhook port. Each one is made again when it is closed. */
class Attack {
  closed = 0;
  #sockets = new Set();
  #stopped = false;

  constructor(stack, localAddress) {
    this.stack = stack;
    this.url = stack.gateway.webhookUrl;
    this.localAddress = localAddress;
  }

  #head(length = MAX_BODY_BYTES) {
    const { host, pathname } = new URL(this.url);
    return `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n`;
  }

  /** Makes `count` connections, and calls `attack` with each. */
  #make(count, attack) {
    const come = () => {
      if (this.#stopped) return;
      const socket = connectTo(this.url, { localAddress: this.localAddress });
      this.#sockets.add(socket);
      socket.on('connect', () => attack(socket)).resume();
      socket.on('close', () => {
        this.closed += 1;
        this.#sockets.delete(socket);
        setTimeout(come, 20);
      });
    };
    for (let i = 0; i < count; ++i) come();
    return this;
  }

  /** Whole bodies but for their last byte. */
  unfinished(count, length = MAX_BODY_BYTES) {
    return this.#make(count, (socket) => {
      socket.write(this.#head(length));
      socket.write(bodyBytes.subarray(0, length - 1));
    });
  }

  /** Bodies with a little more than the least speed. */
  trickling(count) {
    return this.#make(count, (socket) => {
      socket.write(this.#head());
      const piece = setInterval(() => socket.write(bodyBytes.subarray(0, 2048)), 100);
      socket.on('close', () => clearInterval(piece));
    });
  }

  /** Whole deliveries that the gateway must verify, one after the other. */
  forged(count, change) {
    const { headers } = delivery(this.stack.simulator, { eventId: 'forged' });
    const request = requestOf(this.url, { headers: headers.map(change), body: bodyBytes.subarray(0, MEBIBYTE) });
    return this.#make(count, (socket) => {
      socket.write(request);
      socket.on('data', () => socket.write(request));
    });
  }

  /** Connections that stay open after a request. */
  idle(count) {
    const message = delivery(this.stack.simulator, { eventId: 'idle' });
    const request = requestOf(this.url, { ...message, body: Buffer.from('{}') });
    return this.#make(count, (socket) => socket.write(request));
  }

  everything() {
    const { kid } = this.stack.simulator.webhooks.keys.signing;
    const unknownKey = ([name, value]) => [name, value === kid ? 'unknown' : value];
    return this.unfinished(200)
      .trickling(20)
      .forged(8, (header) => header)
      .forged(8, unknownKey)
      .idle(60);
  }

  stop() {
    this.#stopped = true;
    this.#sockets.forEach((socket) => socket.destroy());
  }
}

/** Starts an attack, which `t` stops at its end. */
function attackFrom(t, stack, localAddress) {
  const attack = new Attack(stack, localAddress);
  t.after(() => attack.stop());
  return attack;
}

const startStack = (t, webhooks = {}) => startEventStack(t, { webhooks, config: { admin: ADMIN } });

const metricOf = async (gateway, name) => (await metricsOf(gateway)).get(name) ?? 0;
const refusedOf = (gateway, outcome) => metricOf(gateway, `stampgate_deliveries_total{outcome="${outcome}"}`);

describe('one source that knows the path and does all that it can', () => {
  const cases = { 'a sender with another address': '127.0.0.2', 'a sender with its own address': '127.0.0.1' };
  for (const [name, localAddress] of Object.entries(cases)) {
    test(
      `does not keep out ${name}, although it sends most of a body on more connections than there are`,
      { timeout: HANG_MS },
      async (t) => {
        const stack = await startStack(t);
        // All bodies together fit into the account.
        const attack = attackFrom(t, stack, localAddress).unfinished(300, 100_000);
        await until(() => attack.closed > 100, 'all places have been used');
        stack.simulator.webhooks.change({ maxAttempts: 1 });
        const { answers } = await stack.simulator.webhooks.sendMany({ count: 200, concurrency: 8 }).done;
        assert.deepEqual(answers, { 200: 200 });
        attack.stop();
      },
    );

    test(
      `uses no more than the account beside ${name}, each of whose deliveries passes at once`,
      { timeout: 5 * HANG_MS },
      async (t) => {
        const stack = await startStack(t);
        const { simulator, gateway } = stack;
        const { pid } = gateway.child;
        await simulator.webhooks.sendMany({ count: 20, concurrency: 8 }).done;
        const before = residentBytes(pid);
        const attack = attackFrom(t, stack, localAddress).everything();
        await until(async () => (await refusedOf(gateway, 'max_bytes_reached')) > 100, 'the account is used up');
        let sent = 20;
        for (; attack.closed < 3000; sent += 200) {
          const { answers } = await simulator.webhooks.sendMany({ count: 200, concurrency: 8 }).done;
          assert.deepEqual(answers, { 200: 200 });
        }
        const held = await metricOf(gateway, 'stampgate_webhook_held_bytes');
        assert.ok(held > MAX_BYTES / 4 && held <= MAX_BYTES, `${held}`);
        attack.stop();
        const grown = peakResidentBytes(pid) - before;
        t.diagnostic(
          `${Math.round(grown / MEBIBYTE)} MiB more resident, ${sent} deliveries, ${attack.closed} connections of the attack ended`,
        );
        if (!isSanitized()) assert.ok(grown <= MAX_BYTES + MORE_BYTES, `${grown}`);
        assert.equal(await metricOf(gateway, 'stampgate_webhook_peers_refused_total'), 0);
        assert.equal((await listAll(gateway)).length, sent);
        await until(
          async () => (await metricOf(gateway, 'stampgate_webhook_held_bytes')) < MEBIBYTE,
          'all is returned',
        );
      },
    );
  }

  test('gets 503 for a body that stops, with a line and a count', { timeout: HANG_MS }, async (t) => {
    const stack = await startStack(t);
    const { gateway } = stack;
    const { host, pathname } = new URL(gateway.webhookUrl);
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\n`;
    const begun = performance.now();
    const { statuses, closed } = await exchangeBytes(gateway.webhookUrl, `${head}canary`);
    assert.deepEqual([statuses, closed], [[503], true]);
    assert.ok(performance.now() - begun >= 5000);
    const [line] = await logLines(gateway, 1, 'delivery_not_stored');
    assert.deepEqual([line.outcome, line.http_status], ['too_slow', 503]);
    assert.ok(!gateway.output.includes('canary'));
    assert.equal(await refusedOf(gateway, 'too_slow'), 1);
  });

  test('uses more if the account allows it', { timeout: 5 * HANG_MS }, async (t) => {
    const stack = await startStack(t, { max_bytes: 1024 * MEBIBYTE });
    const { pid } = stack.gateway.child;
    const before = residentBytes(pid);
    const attack = attackFrom(t, stack, '127.0.0.2').unfinished(60);
    await until(() => residentBytes(pid) - before > MAX_BYTES + 2 * MORE_BYTES, 'the bodies are held');
    attack.stop();
  });
});
