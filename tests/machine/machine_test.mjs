// Tests the simulated machine itself: which data its disk keeps and loses, and which time its clock shows.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { HANG_MS, scratch } from '../end_to_end/harness.mjs';
import { Random } from '../end_to_end/random.mjs';
import { binary } from '../paths.mjs';
import { Machine } from './machine.mjs';
import { remains } from './power_cut.mjs';

const PAGE = 4096;

/** A process that executes commands; see probe.cc. */
class Probe {
  constructor({ watched, env }) {
    this.child = spawn(binary('tests/machine/probe'), [watched], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.exited = new Promise((resolve) => this.child.on('exit', resolve));
  }

  async do(command) {
    this.child.stdin.write(`${command}\n`);
    const { value, done } = await this.lines.next();
    assert.ok(!done, `the probe ended at: ${command}`);
    return value;
  }

  async stop(signal = 'SIGKILL') {
    this.child.kill(signal);
    await this.exited;
  }
}

function newMachine(t, files = {}) {
  const folder = scratch(t);
  const watched = join(folder, 'data');
  mkdirSync(watched);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(watched, name), text);
  const machine = new Machine(join(folder, 'machine'), watched);
  t.after(() => machine.close());
  return machine;
}

function startProbe(t, machine) {
  const probe = new Probe(machine);
  t.after(() => probe.stop());
  return probe;
}

const contentOf = ({ watched }, name) => readFileSync(join(watched, name), 'utf8');
const filesOf = ({ watched }) => readdirSync(watched).sort();

/** Starts a process, executes the commands in it, and kills it. Every command must succeed. */
async function run(t, machine, commands) {
  const probe = startProbe(t, machine);
  for (const command of commands) assert.match(await probe.do(command), /^\d+$/, command);
  await probe.stop();
}

describe('the clock', { timeout: HANG_MS }, () => {
  const seconds = async (probe) => (await probe.do('clocks')).split(' ').map(Number);

  test('moves for every function that reads it; the monotonic clock does not move', async (t) => {
    const machine = newMachine(t);
    const probe = startProbe(t, machine);
    const [, , , , , monotonic] = await seconds(probe);
    for (const offset of [-300, 300, 0]) {
      machine.clockOffsetMs = offset * 1000;
      const [...wall] = await seconds(probe);
      const steady = wall.pop();
      const now = machine.nowMs() / 1000;
      for (const each of wall) assert.ok(Math.abs(each - now) <= HANG_MS / 1000, `${each} is not about ${now}`);
      assert.ok(steady - monotonic < HANG_MS / 1000);
    }
  });

  test('a running process sees a step of the clock immediately', async (t) => {
    const machine = newMachine(t);
    const probe = startProbe(t, machine);
    const end = Date.now() + 1000;
    while (Date.now() < end) await seconds(probe);
    machine.clockOffsetMs = 3_600_000;
    const [...wall] = await seconds(probe);
    wall.pop();
    const now = machine.nowMs() / 1000;
    for (const each of wall) assert.ok(Math.abs(each - now) <= HANG_MS / 1000, `${each} is not about ${now}`);
  });

  test('a process that starts after a step of the clock sees the moved time', async (t) => {
    const machine = newMachine(t);
    machine.clockOffsetMs = 3_600_000;
    const [now] = await seconds(startProbe(t, machine));
    assert.ok(now * 1000 - Date.now() > 3_500_000);
  });

  for (const wait of ['wait', 'wait_absl']) {
    test(`${wait}: a wait until a time of the wall clock has its full length even if the clock is wrong`, async (t) => {
      const machine = newMachine(t);
      const probe = startProbe(t, machine);
      for (const offset of [-3_600_000, 3_600_000]) {
        machine.clockOffsetMs = offset;
        const ms = Number(await probe.do(`${wait} 300`));
        assert.ok(ms >= 290, `${ms}`);
      }
    });

    test(`${wait}: a step of the clock ends a wait`, async (t) => {
      const machine = newMachine(t);
      const probe = startProbe(t, machine);
      await probe.do('clocks');
      const ended = probe.do(`${wait} 3600000`);
      // The test moves the clock again and again, because the process possibly begins its wait only after the first move.
      // Each move is as long as the wait.
      const moved = setInterval(() => (machine.clockOffsetMs += 3_600_000), 10);
      await ended;
      clearInterval(moved);
    });
  }
});

describe('the disk', { timeout: HANG_MS }, () => {
  /**
   * Returns the possible contents of the file `name` after the commands and a power cut. The content undefined means
   * that the file does not exist.
   */
  async function outcomes(t, commands, name, { files, prepare = () => {}, cut } = {}) {
    const random = new Random(t);
    const machine = newMachine(t, files);
    prepare(machine);
    await run(t, machine, commands);
    const seen = new Set();
    for (let round = 0; round < 200; ++round) {
      const left = remains(machine, random, cut).find((file) => file.name === name);
      seen.add(left?.content.toString());
    }
    return [...seen].sort();
  }

  test('keeps synced data', async (t) => {
    const seen = await outcomes(t, ['append f synced', 'sync f', 'syncdir'], 'f');
    assert.deepEqual(seen, ['synced']);
  });

  test('may lose only data that was not synced', async (t) => {
    const commands = ['append f synced', 'sync f', 'syncdir', `write f ${PAGE} x ${PAGE}`];
    const seen = await outcomes(t, commands, 'f', { cut: { pieceBytes: PAGE } });
    for (const content of seen) assert.ok(content.startsWith('synced'), content);
    assert.ok(seen.includes('synced'));
    assert.ok(seen.some((content) => content.endsWith('x'.repeat(PAGE))));
    assert.ok(seen.some((content) => content.length === 2 * PAGE && !content.includes('x')));
  });

  test('writes data that was not synced in any order, in pieces of 512 bytes', async (t) => {
    const commands = [`write f 0 a ${PAGE}`, 'sync f', 'syncdir', `write f 0 b ${PAGE}`];
    const seen = await outcomes(t, commands, 'f');
    assert.ok(seen.length > 100, `${seen.length} outcomes`);
    for (const content of seen) assert.match(content, /^(a{512}|b{512}){8}$/);
  });

  test('may lose the name of a new file until the folder is synced', async (t) => {
    const seen = await outcomes(t, ['append f text', 'sync f'], 'f');
    assert.deepEqual(seen, ['text', undefined]);
  });

  test('until the folder is synced, may restore the complete old file that a rename replaced', async (t) => {
    const commands = ['append g new', 'sync g', 'rename g f'];
    const unsynced = await outcomes(t, commands, 'f', { files: { f: 'old' } });
    assert.deepEqual(unsynced, ['new', 'old']);
    const synced = await outcomes(t, [...commands, 'syncdir'], 'f', { files: { f: 'old' } });
    assert.deepEqual(synced, ['new']);
  });

  test('may restore a removed file until the folder is synced', async (t) => {
    const unsynced = await outcomes(t, ['unlink f', 'append g text', 'sync g'], 'f', { files: { f: 'old' } });
    assert.deepEqual(unsynced, ['old', undefined]);
    const synced = await outcomes(t, ['unlink f', 'syncdir'], 'f', { files: { f: 'old' } });
    assert.deepEqual(synced, [undefined]);
  });

  test('keeps both names of a file with two names', async (t) => {
    const machine = newMachine(t, { f: 'old' });
    await run(t, machine, ['link f g', 'syncdir', 'append g more', 'sync g']);
    machine.cutPower(new Random(t));
    assert.deepEqual([contentOf(machine, 'f'), contentOf(machine, 'g')], ['oldmore', 'oldmore']);
    await run(t, machine, ['append f x', 'sync f']);
    assert.equal(contentOf(machine, 'g'), 'oldmorex');
  });

  test('may lose a truncation that was not synced', async (t) => {
    const unsynced = await outcomes(t, ['cut f 3'], 'f', { files: { f: 'longer' } });
    assert.deepEqual(unsynced, ['lon', 'longer']);
    const synced = await outcomes(t, ['cut f 3', 'sync f', 'grow f 6', 'sync f'], 'f', { files: { f: 'longer' } });
    assert.deepEqual(synced, ['lon\0\0\0']);
  });

  test('keeps the page cache when the process is killed', async (t) => {
    const machine = newMachine(t);
    await run(t, machine, ['append f text']);
    const probe = startProbe(t, machine);
    assert.equal(await probe.do('bytes f 0 9'), 'text');
    assert.equal(await probe.do('sync f'), '0');
    assert.equal(await probe.do('syncdir'), '0');
    await probe.stop();
    machine.cutPower(new Random(t));
    assert.equal(contentOf(machine, 'f'), 'text');
  });

  test('after a failed sync, the page cache has data that the disk does not have', async (t) => {
    const machine = newMachine(t, { f: 'old' });
    machine.failSyncs({ match: 'f' });
    const probe = startProbe(t, machine);
    await probe.do('write f 0 n 3');
    assert.equal(await probe.do('sync f'), 'EIO');
    await probe.stop();
    // Another process reads the data, and its sync of the file succeeds. The disk does not have the data nevertheless.
    const next = startProbe(t, machine);
    assert.equal(await next.do('bytes f 0 3'), 'nnn');
    assert.equal(await next.do('sync f'), '0');
    await next.stop();
    machine.cutPower(new Random(t));
    assert.equal(contentOf(machine, 'f'), 'old');
    assert.deepEqual(machine.counts.failed, 1);
  });

  test('after a failed sync and a drop, the page cache has the data of the disk', async (t) => {
    const machine = newMachine(t, { f: 'old' });
    machine.failSyncs({ match: 'f' });
    const probe = startProbe(t, machine);
    await probe.do('write f 0 n 3');
    assert.equal(await probe.do('sync f'), 'EIO');
    assert.equal(await probe.do('drop f'), '0');
    assert.equal(await probe.do('bytes f 0 3'), 'old');
  });

  test('a drop does not change dirty pages', async (t) => {
    const machine = newMachine(t, { f: 'old' });
    await run(t, machine, ['write f 0 n 3', 'drop f']);
    assert.equal(contentOf(machine, 'f'), 'nnn');
  });

  test('a failing sync may write some pages', async (t) => {
    const commands = [`write f 0 n ${8 * PAGE}`];
    const files = { f: 'o'.repeat(8 * PAGE) };
    const seen = new Set();
    for (let round = 0; round < 10; ++round) {
      const machine = newMachine(t, files);
      machine.seed(round);
      machine.failSyncs({ keep: 0.5 });
      await run(t, machine, commands);
      const probe = startProbe(t, machine);
      assert.equal(await probe.do('sync f'), 'EIO');
      await probe.do('drop f');
      await probe.stop();
      assert.match(contentOf(machine, 'f'), /^(n{4096}|o{4096})*$/);
      seen.add(contentOf(machine, 'f'));
    }
    assert.ok(seen.size > 5);
  });

  test('lets the first matching syncs succeed and then fails the given number', async (t) => {
    const machine = newMachine(t);
    machine.failSyncs({ match: 'f', skip: 1, count: 2 });
    const probe = startProbe(t, machine);
    const sync = async (name) => {
      await probe.do(`append ${name} x`);
      return probe.do(`sync ${name}`);
    };
    const answers = [];
    for (const name of ['g', 'f', 'g', 'f', 'g', 'f', 'f']) answers.push(await sync(name));
    assert.deepEqual(answers, ['0', '0', '0', 'EIO', '0', 'EIO', '0']);
  });

  test('may lose the names in a folder if the sync of the folder fails', async (t) => {
    const seen = new Set();
    const random = new Random(t);
    for (let round = 0; round < 20; ++round) {
      const machine = newMachine(t);
      machine.failSyncs({ match: '/' });
      const probe = startProbe(t, machine);
      await probe.do('append f x');
      await probe.do('sync f');
      assert.equal(await probe.do('syncdir'), 'EIO');
      await probe.stop();
      machine.cutPower(random);
      seen.add(filesOf(machine).length);
    }
    assert.deepEqual([...seen].sort(), [0, 1]);
  });

  test('writes dirty pages without a sync if write-back is on', async (t) => {
    const cut = { keep: 0 };
    const files = { f: 'o'.repeat(4 * PAGE) };
    const commands = [`write f 0 n ${4 * PAGE}`];
    assert.deepEqual(await outcomes(t, commands, 'f', { cut, files }), [files.f]);
    const prepare = (machine) => {
      machine.seed(1);
      machine.setWriteBack(1);
    };
    const [written, ...more] = await outcomes(t, commands, 'f', { prepare, cut, files });
    assert.deepEqual(more, []);
    assert.match(written, /^(n{4096}|o{4096}){4}$/);
    assert.match(written, /no|on/);
  });

  test('lets matching syncs wait until the test releases them', async (t) => {
    const machine = newMachine(t);
    machine.hang({ match: 'f', skip: 1 });
    const probe = startProbe(t, machine);
    await probe.do('append f x');
    for (const file of ['g', 'f', 'g']) assert.equal(await probe.do(`sync ${file}`), '0');
    const synced = probe.do('sync f');
    await machine.waitFor(({ waiting }) => waiting === 1, 'the sync to wait');
    machine.release();
    assert.equal(await synced, '0');
    assert.deepEqual(machine.counts, { syncs: 4, failed: 0, waiting: 0, refused: 0 });
  });

  test('delays each sync by the time that the test sets', async (t) => {
    const machine = newMachine(t);
    machine.setSyncMs(50);
    const probe = startProbe(t, machine);
    await probe.do('append f x');
    const start = process.hrtime.bigint();
    await probe.do('sync f');
    assert.ok(process.hrtime.bigint() - start >= 50_000_000n);
  });

  test('a full disk rejects only writes that grow a file', async (t) => {
    const machine = newMachine(t, { f: 'old' });
    machine.setFreeBytes(2);
    const probe = startProbe(t, machine);
    assert.equal(await probe.do('append f ab'), '2');
    assert.equal(await probe.do('append f c'), 'ENOSPC');
    assert.equal(await probe.do('grow f 6'), 'ENOSPC');
    assert.equal(await probe.do('write f 0 n 5'), '5');
    machine.release();
    assert.equal(await probe.do('append f c'), '1');
    assert.equal(await probe.do('bytes f 0 9'), 'nnnnnc');
  });

  test('does not track lock files and files that SQLite maps', async (t) => {
    const machine = newMachine(t);
    await run(t, machine, ['append f.lock x', 'append f-shm x', 'syncdir']);
    machine.cutPower(new Random(t));
    assert.deepEqual([filesOf(machine), contentOf(machine, 'f.lock')], [['f.lock'], 'x']);
  });
});
