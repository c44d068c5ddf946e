// The file of events on the disk: for one gateway alone, closed to others, and refused if it is something else.
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { linkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS, run } from './harness.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const modeOf = (file) => (statSync(file).mode & 0o777).toString(8);
const companionsOf = ({ folder }) => readdirSync(folder).filter((name) => name.startsWith('events.db')).sort();

/** Runs another gateway with a stack's config to its end. */
async function serve({ folder, config }) {
  const file = join(folder, 'second.yaml');
  writeFileSync(file, JSON.stringify(config));
  return run(['serve', '--config', file]);
}

/** The gateway does not start, and says why in one line. */
async function isRefused(stack, reason) {
  const { status, stdout, stderr } = await serve(stack);
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, reason);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
}

describe('the log on the disk', { timeout: HANG_MS }, () => {
  it('is closed to others, whatever the process lets new files be', async (t) => {
    const umask = process.umask(0);
    const stack = await startEventStack(t).finally(() => process.umask(umask));
    await deliver(stack.simulator);
    const companions = companionsOf(stack);
    assert.deepEqual(companions, ['events.db', 'events.db-mark', 'events.db-shm', 'events.db-wal', 'events.db.lock']);
    for (const name of companions) assert.equal(modeOf(join(stack.folder, name)), '600', name);
  });

  it('is closed to others if it was not', async (t) => {
    const stack = await startEventStack(t);
    const { eventId } = await deliver(stack.simulator);
    await stack.gateway.stop('SIGKILL');
    const companions = companionsOf(stack);
    for (const name of companions) chmodSync(join(stack.folder, name), 0o666);
    await stack.start();
    for (const name of companions) assert.equal(modeOf(join(stack.folder, name)), '600', name);
    assert.deepEqual(idsOf(await listAll(stack.gateway)), [eventId]);
  });

  it('is of one gateway: a second one ends, and the first goes on', async (t) => {
    const stack = await startEventStack(t);
    await deliver(stack.simulator);
    await isRefused(stack, /events\.db: another process has it open/);
    assert.equal((await deliver(stack.simulator)).status, 200);
    assert.equal((await listAll(stack.gateway)).length, 2);
  });

  it('is free again when its gateway has gone, however it went', async (t) => {
    const stack = await startEventStack(t);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM']) {
      await stack.restart(signal);
      assert.equal((await deliver(stack.simulator)).status, 200);
    }
    assert.equal((await listAll(stack.gateway)).length, 3);
  });

  it('is one file after an orderly end: a copy of it has everything', async (t) => {
    const stack = await startEventStack(t);
    for (let i = 0; i < 10; i += 1) await deliver(stack.simulator);
    const events = await listAll(stack.gateway);
    await stack.gateway.stop();
    const copy = await prepareEventStack(t);
    copyFileSync(stack.file, copy.file);
    assert.deepEqual(await listAll(await copy.start()), events);
  });

  for (const [title, prepare, reason] of [
    ['a text', ({ file }) => writeFileSync(file, 'a text '.repeat(1000)), /events\.db: .*not an event log/],
    ['a folder', ({ file }) => mkdirSync(file), /events\.db.* is not a regular file/],
    ['a link', ({ file, folder }) => symlinkSync(join(folder, 'other.db'), file), /events\.db.* is not a regular file/],
    [
      'a file with another name',
      ({ file, folder }) => {
        writeFileSync(join(folder, 'other.db'), '');
        linkSync(join(folder, 'other.db'), file);
      },
      /events\.db.* has another name \(a hard link\)/,
    ],
    ['in no folder', ({ config }) => (config.events.file += '/deep'), /events\.db\/deep: .*its folder does not exist/],
  ]) {
    it(`is refused if it is ${title}, and left as it is`, async (t) => {
      const stack = await prepareEventStack(t);
      prepare(stack);
      const other = existsSync(join(stack.folder, 'other.db'));
      const before = existsSync(stack.file) && statSync(stack.file).isFile() && readFileSync(stack.file);
      await isRefused(stack, reason);
      if (before) assert.ok(readFileSync(stack.file).equals(before));
      assert.equal(existsSync(join(stack.folder, 'other.db')), other);
    });
  }
});
