// A shipper copies the closed files of an audit log to another machine. There `stampgate audit verify` checks the copies.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Machine } from '../machine/machine.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { Gateway, HANG_MS, auditConfig, plainConfig, run, scratch } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';

const DAY_MS = 24 * 3_600_000;

/** What the documentation of the shipper states: these files are closed, and no other file has such a name. */
const CLOSED = /^audit\.log\.[0-9]{20}\.[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

test(
  'copies of the files of three days are whole, and a missing or changed copy is found',
  { timeout: 2 * HANG_MS },
  async (t) => {
    const folder = scratch(t);
    const shipped = join(folder, 'shipped');
    const data = join(folder, 'data');
    for (const each of [shipped, data]) mkdirSync(each);
    const audit = { ...(await auditConfig(folder, join(data, 'audit.log'))), daily_files: true };
    const simulator = await startSimulator();
    const machine = new Machine(scratch(t), data);
    const config = { ...plainConfig(simulator, folder), audit };
    let gateway = await Gateway.start(config, { folder, env: machine.env });
    t.after(async () => {
      await gateway.stop();
      await simulator.close();
      machine.close();
    });

    /** Copies each closed file once. Returns the names of all copies. */
    const ship = () => {
      for (const name of readdirSync(data).filter((each) => CLOSED.test(each))) {
        if (!existsSync(join(shipped, name))) copyFileSync(join(data, name), join(shipped, name));
      }
      return readdirSync(shipped).sort();
    };
    const call = () =>
      gateway.call('PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) });
    const moveClock = (ms) => {
      machine.clockOffsetMs += ms;
      simulator.change({ clockOffsetMs: machine.clockOffsetMs });
    };
    const dateOf = () => new Date(machine.nowMs()).toISOString().slice(0, 10);
    const verify = (...args) =>
      run(['audit', 'verify', '--key', audit.key_file, '--files', 'closed', shipped, ...args]);

    // The first day has calls, and ends without one. The test begins at noon, so that no day ends by itself.
    await gateway.stop();
    moveClock(DAY_MS * 1.5 - (machine.nowMs() % DAY_MS));
    gateway = await Gateway.start(config, { folder, env: machine.env });
    await until(() => ship().length === 1, 'the file of the day on which the gateway was stopped');
    for (let i = 0; i < 5; i += 1) await call();
    assert.equal(ship().length, 1, 'the current file is not copied');
    const dates = [dateOf()];
    moveClock(DAY_MS);
    await until(() => ship().length === 2, 'the file of the first day');

    // On the second day, the process is killed. The next one starts on the third day.
    await call();
    dates.push(dateOf());
    await gateway.stop('SIGKILL');
    moveClock(DAY_MS);
    gateway = await Gateway.start(config, { folder, env: machine.env });
    await until(() => ship().length === 3, 'the file of the second day');

    // A clock that goes back opens no earlier file.
    await call();
    moveClock(-2 * DAY_MS);
    await until(() => ship().length === 4, 'the file that the clock has ended');
    await call();
    moveClock(3 * DAY_MS);
    await until(() => ship().length === 5, 'the file after the step');
    await gateway.stop();
    const names = ship();
    assert.deepEqual(
      names.slice(1, 3).map((name) => name.slice(-10)),
      dates,
    );
    for (const name of names) {
      assert.ok(readFileSync(join(shipped, name)).equals(readFileSync(join(data, name))), `${name} has not changed`);
    }

    const closed = logged(gateway, 'audit_file_closed');
    const { head } = closed.at(-1);
    for (const args of [[], ['--head', head]]) {
      const { status, stdout } = await verify(...args);
      assert.equal(status, 0, stdout);
      assert.ok(stdout.includes(`head ${head}\n`), stdout);
    }
    const log = await run(['audit', 'verify', '--key', audit.key_file, audit.file, '--head', head]);
    assert.equal(log.status, 0, log.stdout);

    const recordsOf = (name) =>
      readFileSync(join(shipped, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).seq);
    const range = (name) => `records ${recordsOf(name)[0]} to ${recordsOf(name).at(-1)} are missing`;
    for (const [index, expected] of [
      [0, 4],
      [2, 1],
    ]) {
      const file = join(shipped, names[index]);
      const said = range(names[index]);
      renameSync(file, join(folder, 'away'));
      const { status, stdout } = await verify('--head', head);
      assert.equal(status, expected, stdout);
      assert.ok(stdout.includes(said), stdout);
      renameSync(join(folder, 'away'), file);
    }
    const last = join(shipped, names.at(-1));
    const missing = range(names.at(-1));
    renameSync(last, join(folder, 'away'));
    assert.equal((await verify()).status, 0, 'without the head, nothing shows that the last file is missing');
    const withHead = await verify('--head', head);
    assert.equal(withHead.status, 1);
    assert.ok(withHead.stdout.includes(missing), withHead.stdout);
    renameSync(join(folder, 'away'), last);

    const file = join(shipped, names[1]);
    const content = readFileSync(file, 'utf8');
    for (const other of [
      content.replace('"caller":"loopback"', '"caller":"nobody"'),
      content.slice(0, content.lastIndexOf('\n', content.length - 2) + 1),
    ]) {
      assert.notEqual(other, content);
      writeFileSync(file, other);
      assert.equal((await verify()).status, 1);
    }
    writeFileSync(file, content);
    appendFileSync(last, '{');
    assert.equal((await verify()).status, 1);
  },
);
