// Relays the connections of a gateway to a PostgreSQL server, so that a test can cut them.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';

const SOCKET = '.s.PGSQL.5432';

/** A relay. */
export class Relay {
  /** @type {string} */
  folder;
  /** Its address for a config. @type {string} */
  host;
  /** @type {import('node:net').Server} */
  listener;
  #pairs = new Set();
  #hangs = false;
  #cuts = 0;

  /** Creates a relay to `server`. It ends with the test `t`. */
  static async create(t, server) {
    const relay = new Relay();
    relay.folder = mkdtempSync('/tmp/relay-');
    relay.host = `${relay.folder}:5432`;
    relay.listener = createServer((client) => relay.#add(client, server));
    await once(relay.listener.listen(join(relay.folder, SOCKET)), 'listening');
    t.after(() => {
      relay.listener.close();
      for (const pair of relay.#pairs) pair.forEach((socket) => socket.destroy());
      rmSync(relay.folder, { recursive: true, force: true });
    });
    return relay;
  }

  /** From now on no byte passes, as if packets were lost. */
  hang() {
    this.#hangs = true;
    for (const pair of this.#pairs) pair.forEach((socket) => socket.pause());
  }

  /** Lets bytes pass again. The connections that hung are lost. */
  resume() {
    this.#hangs = false;
    for (const pair of this.#pairs) pair.forEach((socket) => socket.destroy());
  }

  /** Passes the next COMMIT on, and cuts its connection before the response. Repeats this `count` times. */
  cutCommits(count) {
    this.#cuts = count;
  }

  /** How many COMMITs of cutCommits() have not come yet. */
  get cutsLeft() {
    return this.#cuts;
  }

  #add(client, server) {
    const upstream = createConnection(join(server.folder, SOCKET));
    const pair = [client, upstream];
    this.#pairs.add(pair);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      if (this.#hangs) socket.pause();
    }
    client.on('data', (bytes) => {
      if (this.#cuts > 0 && bytes.includes('COMMIT')) {
        this.#cuts -= 1;
        upstream.write(bytes, () => client.destroy());
        return;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => client.write(bytes));
  }
}
