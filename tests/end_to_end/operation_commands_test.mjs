// The commands of `stampgate operations`: they state what a file of operations adds and changes, and what somebody must
// decide about it. The program's own operations, in a file, are a file of operations that changes nothing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { binary, root } from '../paths.mjs';
import { plainConfig, putConfig, run, scratch } from './harness.mjs';

const stampgate = binary('gateway/stampgate');
const file = (name) => binary(`tests/operation/${name}.binpb`);
const TEAPOT = file('teapot');
const PARAMETERS = 'stampgate.v1.EarnWithdrawParameters';
const BREW = 'stampgate.testing.v1.TeapotService/BrewTea';

/** Runs a command of `stampgate operations`. Resolves to its exit status, lines and errors. */
async function operations(...args) {
  const { status, stdout, stderr } = await run(['operations', ...args]);
  return { status, lines: stdout.split('\n').slice(0, -1), stderr };
}

/** Runs `stampgate operations export` with its standard output in the file at `path`. Resolves to its exit status. */
async function exportTo(path) {
  const output = openSync(path, 'w');
  const child = spawn(stampgate, ['operations', 'export'], { stdio: ['ignore', output, 'ignore'] });
  const [status] = await once(child, 'close');
  closeSync(output);
  return status;
}

test('list prints the operations of the program, and those of a file after them', async () => {
  const own = await operations('list');
  assert.deepEqual([own.status, own.stderr], [0, '']);
  assert.ok(own.lines.some((line) => /^PolicyService\/GetPolicy +query +query +- +query\/get_policy +-$/.test(line)));
  assert.ok(!own.lines.some((line) => line.startsWith(BREW)));

  const { status, lines } = await operations('list', TEAPOT);
  assert.equal(status, 0);
  assert.equal(lines.length, own.lines.length + 2);
  assert.match(
    lines.find((line) => line.startsWith(BREW)),
    /BrewTea +submit +write +- +submit\/brew_tea +ACTIVITY_TYPE_BREW_TEA_V3$/,
  );
});

test('diff prints what each file adds, changes, and defines in vain', async () => {
  const chain = `${PARAMETERS}.chain`;
  for (const [name, sentences] of Object.entries({
    chain_guarded: [`${chain} is a new field`],
    chain_unreviewed: [`${chain} is a new field`],
    chain_renamed: [
      `${BREW} is a new submit for class write`,
      'stampgate.testing.v1.TeapotService/GetTeapot is a new query for class query',
      `${PARAMETERS}.chain_caip2 has another name, number, type, list or oneof; it stays as it is`,
      `stampgate.v1.LeaveService.Leave is left out, because it needs ${PARAMETERS}`,
    ],
  })) {
    const { status, lines } = await operations('diff', file(name));
    assert.equal(status, 1, name);
    assert.deepEqual(
      lines,
      sentences.map((sentence) => `${file(name)}: ${sentence}`),
    );
  }
  const withoutEffect = await operations('diff', file('chain_reserved'));
  assert.equal(withoutEffect.status, 0);
  assert.match(withoutEffect.lines[0], /chain has the JSON name of .*chain_caip2; it is left out$/);
});

test('list and diff name the other names of operations, which lint need not judge', async () => {
  const isAnotherName = 'is another name of EarnService/EarnWithdraw';
  const own = await operations('diff', file('own_earn'));
  assert.equal(own.status, 1);
  assert.equal(own.lines.length, 3);
  assert.equal(own.lines[0], `${file('own_earn')}: stampgate.testing.v1.OwnEarnService/Withdraw ${isAnotherName}`);
  assert.match(own.lines[1], /OwnEarnService\.ReadPolicy has the path of .*; it is left out$/);
  assert.match(own.lines[2], /OwnEarnService\.Withdraw has other options in this file, which are not used/);
  const { lines } = await operations('list', file('own_earn'));
  assert.match(
    lines.find((line) => line.startsWith('stampgate.testing.v1.OwnEarnService/Withdraw ')),
    / submit +dangerous +- +submit\/earn_withdraw +\S+EARN_WITHDRAW +another name of EarnService\/EarnWithdraw$/,
  );
  assert.deepEqual(await operations('lint', file('own_earn')), { status: 0, lines: [], stderr: '' });
});

test('diff compares a file also with the files before it', async () => {
  const { status, lines } = await operations('diff', TEAPOT, TEAPOT);
  assert.equal(status, 1);
  assert.equal(lines.length, 2);
});

test('a file of an earlier release changes nothing, although the folder of protos has more than operations', async () => {
  for (const release of ['0.1.0', '0.2.0']) {
    assert.equal((await operations('diff', join(root, `proto/releases/${release}.binpb`))).status, 0, release);
  }
});

test('lint prints the rights and the unguarded values of new operations, and new fields without a guard', async () => {
  const teapot = await operations('lint', TEAPOT);
  assert.equal(teapot.status, 1);
  assert.match(teapot.lines[0], /BrewTea is a new submit for class write: .* in no class: a grant must name it$/);
  assert.match(
    teapot.lines[1],
    /BrewTea has texts and numbers without a guard.*: \S+degrees, \S+recipe, \S+guests, \S+$/,
  );
  assert.match(teapot.lines[2], /BrewTea has texts that are not secret.*: \S+BrewTeaParameters.guests$/);

  const { status, lines } = await operations('lint', file('chain_unreviewed'));
  assert.equal(status, 1);
  assert.equal(lines.length, 1);
  assert.match(lines[0], new RegExp(`^${PARAMETERS}.chain has no guard: a grant with amount_limits`));

  assert.deepEqual(await operations('lint', file('chain_guarded')), { status: 0, lines: [], stderr: '' });
});

test('the operations that export writes change nothing in a gateway', async (t) => {
  const folder = scratch(t);
  const exported = join(folder, 'operations.binpb');
  assert.equal(await exportTo(exported), 0);
  assert.ok(readFileSync(exported).includes('Creates or changes'), 'the file has comments');
  for (const command of ['diff', 'lint']) {
    assert.deepEqual(await operations(command, exported), { status: 0, lines: [], stderr: '' }, command);
  }

  const config = join(folder, 'stampgate.yaml');
  const plain = plainConfig({ url: 'http://127.0.0.1:1' }, folder);
  const checked = async (changes) => {
    putConfig(config, JSON.stringify({ ...plain, ...changes }));
    return run(['check', '--config', config]);
  };
  const without = await checked({});
  assert.equal(without.status, 0, without.stderr);
  assert.deepEqual(await checked({ operations: [exported] }), without);
  assert.notDeepEqual(await checked({ operations: [exported, TEAPOT] }), without);
});

test('export fails if it cannot write, and refuses a terminal', async () => {
  assert.equal(await exportTo('/dev/full'), 1);
  const terminal = await run(['-qec', `${stampgate} operations export`, '/dev/null'], { command: 'script' });
  assert.equal(terminal.status, 2);
  assert.match(terminal.stdout, /^operations export writes bytes, not text/);
});

test('a file that cannot be used is reported with its name and status 2', async (t) => {
  const faulty = join(scratch(t), 'faulty.binpb');
  writeFileSync(faulty, 'no descriptors');
  for (const [path, reason] of [
    [faulty, 'is not a serialized FileDescriptorSet'],
    [`${faulty}.missing`, 'it cannot be opened: No such file or directory'],
  ]) {
    for (const command of ['list', 'diff', 'lint']) {
      assert.deepEqual(await operations(command, TEAPOT, path), {
        status: 2,
        lines: [],
        stderr: `${path}: ${reason}\n`,
      });
    }
  }
});
