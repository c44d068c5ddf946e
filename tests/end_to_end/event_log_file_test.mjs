// The event log's file: only one gateway can use it, other users cannot read it, and the gateway refuses other files.
import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { linkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS, run } from './harness.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const modeOf = (file) => (statSync(file).mode & 0o777).toString(8);
const companionsOf = ({ folder }) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('events.db'))
    .sort();

/** Runs another gateway with the stack's config until it exits. */
async function serve({ folder, config }) {
  const file = join(folder, 'second.yaml');
  writeFileSync(file, JSON.stringify(config));
  return run(['serve', '--config', file]);
}

/** Checks that the gateway does not start, and logs this reason in one line. */
async function isRefused(stack, reason) {
  const { status, stdout, stderr } = await serve(stack);
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, reason);
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).event);
  assert.deepEqual(events, ['config_warnings', 'start_failed'], stderr);
}

describe("the event log's file", { timeout: HANG_MS }, () => {
  it('is not accessible to other users, whatever the umask is', async (t) => {
    const umask = process.umask(0);
    const stack = await startEventStack(t).finally(() => process.umask(umask));
    await deliver(stack.simulator);
    const companions = companionsOf(stack);
    assert.deepEqual(companions, ['events.db', 'events.db-mark', 'events.db-shm', 'events.db-wal', 'events.db.lock']);
    for (const name of companions) assert.equal(modeOf(join(stack.folder, name)), '600', name);
  });

  it('is made inaccessible to other users if it was accessible', async (t) => {
    const stack = await startEventStack(t);
    const { eventId } = await deliver(stack.simulator);
    await stack.gateway.stop('SIGKILL');
    const companions = companionsOf(stack);
    for (const name of companions) chmodSync(join(stack.folder, name), 0o666);
    await stack.start();
    for (const name of companions) assert.equal(modeOf(join(stack.folder, name)), '600', name);
    assert.deepEqual(idsOf(await listAll(stack.gateway)), [eventId]);
  });

  it('can be used by one gateway only: a second one exits, and the first one continues', async (t) => {
    const stack = await startEventStack(t);
    await deliver(stack.simulator);
    await isRefused(stack, /calls\.db: another process has it open/);
    assert.equal((await deliver(stack.simulator)).status, 200);
    assert.equal((await listAll(stack.gateway)).length, 2);
  });

  it('can be used again after its gateway has ended in any way', async (t) => {
    const stack = await startEventStack(t);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM']) {
      await stack.restart(signal);
      assert.equal((await deliver(stack.simulator)).status, 200);
    }
    assert.equal((await listAll(stack.gateway)).length, 3);
  });

  it('contains the whole log after an orderly end, so that a copy of this file has all events', async (t) => {
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
    [
      'in no folder',
      (stack) => (stack.config.events.file = `${stack.file}/deep`),
      /events\.db\/deep: .*its folder does not exist/,
    ],
  ]) {
    it(`is refused if it is ${title}, and not changed`, async (t) => {
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
