// The event log on an ext4 filesystem whose device runs out of space: the kernel discards pages that it could not
// write. After a power cut, events that were acknowledged after this fault are in the log. Events that were
// acknowledged before it are in the log or reported as lost.
//
// The filesystem is in a file on a small tmpfs. When the tmpfs is full, writes to the device fail. Linux's loop device
// even reports success for the last write if it wrote only a part of it. With STAMPGATE_LONG=1 the test uses ten disks
// instead of two. STAMPGATE_SEED=... chooses other moments.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { binary } from '../paths.mjs';
import { prepareEventStack } from './event_stack.mjs';
import { described } from './failures.mjs';
import { Gateway, HANG_MS } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { Namespace } from './namespace.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { fill } from './small_disk.mjs';
import { EARLIEST, idsOf } from './subscriber.mjs';

const IMAGE_MEBIBYTES = 64;
// The size of the filesystem's own blocks and its journal. They get space from the start, so only writes of the log
// fail, and the filesystem continues to work.
const OWN_MEBIBYTES = 10;

/** A script that makes a filesystem in a file on a tmpfs of this size, and mounts it. */
const thinDisk = (folder, mebibytes) => `
mount -t tmpfs -o size=${mebibytes}m tmpfs '${folder}/thin'
truncate -s ${IMAGE_MEBIBYTES}M '${folder}/thin/image'
mkfs.ext4 -q -F -b 4096 -J size=4 -E nodiscard '${folder}/thin/image'
fallocate -l ${OWN_MEBIBYTES}M '${folder}/thin/image'
mount -o loop '${folder}/thin/image' '${folder}/disk'`;

async function reasonToSkip() {
  const folder = mkdtempSync(join(tmpdir(), 'stampgate-thin-disk-'));
  for (const name of ['thin', 'disk']) mkdirSync(join(folder, name));
  let end;
  try {
    await Namespace.create({ after: (each) => (end = each) }, ['mount'], thinDisk(folder, OWN_MEBIBYTES + 2));
    return false;
  } catch (error) {
    return `no ext4 can be mounted from a file: ${error.message}`;
  } finally {
    await end?.();
    rmSync(folder, { recursive: true });
  }
}

const skip = await reasonToSkip();

/** The ids of all events, and the number of events that are reported as lost. */
async function listAround(gateway) {
  const ids = [];
  let lost = 0;
  for (let start = EARLIEST; ;) {
    try {
      const page = await gateway.call('EventService/ListEvents', start);
      ids.push(...idsOf(page.events ?? []));
      if (page.at_end) return { ids, lost };
      start = { cursor: page.cursor };
    } catch (error) {
      const { reason, message, metadata } = described(error);
      assert.equal(reason, 'EVENTS_LOST', message);
      const [, first, last] = /(\d+) to (\d+)$/.exec(message);
      lost += Number(last) - Number(first) + 1;
      start = { cursor: metadata.next_cursor };
    }
  }
}

test(
  'if the device runs out of space, no acknowledged event is lost without a report',
  { skip, timeout: 10 * HANG_MS },
  async (t) => {
    const random = new Random(t);
    for (let disk = LONG ? 10 : 2; disk > 0; --disk) await runFullAndCut(t, random);
  },
);

async function runFullAndCut(t, random) {
  const stack = await prepareEventStack(t);
  const { simulator, folder } = stack;
  const { webhooks } = simulator;
  webhooks.change({ retryMs: 5, maxRetryMs: 20 });
  for (const name of ['thin', 'disk', 'copied', 'copy']) mkdirSync(join(folder, name));
  const namespace = await Namespace.create(t, ['mount'], thinDisk(folder, OWN_MEBIBYTES + 14));
  const command = join(folder, 'stampgate-on-thin-disk');
  const run = `#!/bin/sh\nexec ${namespace.words.join(' ')} '${binary('gateway/stampgate')}' "$@"\n`;
  writeFileSync(command, run, { mode: 0o700 });
  const start = async (disk) => {
    const config = { ...stack.config, events: { ...stack.config.events, file: join(folder, disk, 'events.db') } };
    stack.gateway = await Gateway.start(config, { folder, command });
    webhooks.setEndpoints(null, [stack.gateway.webhookUrl]);
    return stack.gateway;
  };

  const gateway = await start('disk');
  const load = webhooks.sendMany({ count: 100_000, concurrency: 8, bodyBytes: 1000 + random.below(3000) });
  await until(() => load.acknowledged.size > 50 + random.below(200), 'events are stored');
  // The device is thin: a block gets space when it is first written, if the tmpfs has free space.
  const ballast = join(namespace.root, folder, 'thin', 'ballast');
  fill(ballast, random.below(1 << 19));
  const { status } = await gateway.exited;
  assert.notEqual(status, 0);
  const before = new Set(load.acknowledged.keys());
  rmSync(ballast);

  // The kernel keeps running and may still return pages that it could not write. The filesystem may need a new mount.
  let restarted = await start('disk').catch(() => null);
  for (let tries = 0; restarted === null && tries < 3; tries += 1) {
    namespace.run(`umount '${folder}/disk' && mount -o loop '${folder}/thin/image' '${folder}/disk'`);
    restarted = await start('disk').catch(() => null);
  }
  assert.notEqual(restarted, null);
  await until(() => load.acknowledged.size > before.size + 20 + random.below(50), 'events are stored again');
  // Simulates a power cut: only the content of the device remains.
  await restarted.stop('SIGKILL');
  await load.stop();
  namespace.run(`cp --sparse=always '${folder}/thin/image' '${folder}/copied/image'`);
  namespace.run(`mount -o loop '${folder}/copied/image' '${folder}/copy'`);
  const last = await start('copy');
  const { ids, lost } = await listAround(last);
  const found = new Set(ids);
  assert.equal(found.size, ids.length);
  const missing = [...load.acknowledged.keys()].filter((id) => !found.has(id));
  assert.deepEqual(
    missing.filter((id) => !before.has(id)),
    [],
  );
  assert.equal(missing.length, lost);
  t.diagnostic(`${before.size} events, full, then ${load.acknowledged.size}; ${lost} reported as lost`);
  await last.stop();
  const lines = [restarted, last].flatMap((each) => logged(each, 'events_lost'));
  assert.equal(
    lines.reduce((sum, { first, last: to }) => sum + Number(to) - Number(first) + 1, 0),
    lost,
  );
}
