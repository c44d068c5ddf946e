// The program's arguments: a fault in them is reported on one line, with exit status 2.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from './harness.mjs';

describe('the command line', () => {
  for (const [args, reason] of [
    [[], /a command is missing/],
    [['serve'], /serve needs --config/],
  ]) {
    test(`is refused with status 2: ${args.join(' ') || 'nothing'}`, async () => {
      const { status, stdout, stderr } = await run(args);
      assert.equal(status, 2);
      assert.equal(stdout, '');
      assert.match(stderr, reason);
      assert.match(stderr, /see stampgate --help/);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
    });
  }

  test('has --help', async () => {
    const { status, stdout, stderr } = await run(['--help']);
    assert.deepEqual([status, stderr], [0, '']);
    const commands = ['serve', 'check', 'keygen', 'audit keygen', 'audit verify', 'store restored', 'store copy'];
    for (const command of commands) {
      assert.ok(stdout.includes(`\n  stampgate ${command} --`), command);
      const own = await run([...command.split(' '), '--help']);
      assert.deepEqual([own.status, own.stderr], [0, '']);
      assert.ok(own.stdout.startsWith(`stampgate ${command} --`), command);
      assert.match(own.stdout, /^Exit status\n {2}0 {2}/m);
    }
    for (const command of ['list', 'diff', 'lint', 'export']) {
      assert.ok(stdout.includes(`\n  stampgate operations ${command} `), command);
    }
    assert.match((await run(['--version'])).stdout, /^stampgate [0-9]+\.[0-9]+\.[0-9]+(-dev)?\n$/);
  });
});
