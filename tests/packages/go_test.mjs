// Builds the Go module, uses it as its page says, and runs its tests and examples with a real gateway.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { HANG_MS, scratch, startStack } from '../end_to_end/harness.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { commandIn } from '../readme/pages.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { keyOf, pageOf, run, snippetsOf, sourceOf } from './packages.mjs';

const VERSION = '0.1.0';
/** The gateway's address in the examples. */
const PORT = '127.0.0.1:7443';

const source = sourceOf('go');
const required = /^go (1\.\d+)/m.exec(readFileSync(join(source, 'go.mod'), 'utf8'))[1];
const present = /go1\.(\d+)/.exec(String(spawnSync('go', ['env', 'GOVERSION']).stdout))?.[1] ?? '0';
const skip = Number(present) < Number(required.slice(2)) && `found no Go ${required}`;
const folder = scratch({ after });
const module = join(folder, `stampgate-go-${VERSION}`);
// The tests download nothing: deploy/install has done that. -trimpath makes Go compile the stubs only once.
const env = {
  ...process.env,
  GOFLAGS: '-mod=readonly -trimpath',
  GOPROXY: 'off',
  GONOSUMDB: '*',
  GOTOOLCHAIN: 'local',
};
const go = async (args, options = {}) =>
  (await promisify(execFile)('go', args, { cwd: module, env, maxBuffer: 1e8, ...options })).stdout;

const archiveIn = (target) => {
  execFileSync(join(source, 'build'), [VERSION, target]);
  return readFileSync(join(target, `stampgate-go-${VERSION}.tar.gz`));
};

const examples = () => readdirSync(join(source, 'examples'));
const programs = () => examples().filter((name) => name !== 'tests_of_your_own');

const linesOf = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');

/** Builds the examples for the gateway at this address. Returns a function that runs one of them in `target`. */
async function buildExamples(target, address) {
  const copy = join(target, 'module');
  cpSync(module, copy, { recursive: true });
  for (const name of programs()) {
    const path = join(copy, 'examples', name, 'main.go');
    const text = readFileSync(path, 'utf8');
    assert.ok(text.includes(PORT), name);
    writeFileSync(path, text.replaceAll(PORT, address));
  }
  const bin = join(target, 'bin');
  mkdirSync(bin);
  await go(['build', '-o', bin, ...programs().map((name) => `./examples/${name}`)], { cwd: copy });
  return (name, options = {}) => run([join(bin, name)], { cwd: target, ...options });
}

/** One loopback caller, whose votes are those of another user. */
const callers = () => [
  {
    name: 'loopback',
    loopback: true,
    grants: [
      { methods: ['ActivityService/ApproveActivity'], all_organizations: true, key: 'approver' },
      { classes: ['query', 'login', 'write', 'dangerous', 'events'], all_organizations: true, key: 'main' },
    ],
  },
];

describe('the Go module', { skip, timeout: 8 * HANG_MS }, () => {
  test('has equal bytes each time', () => {
    const [first, second] = ['first', 'second'].map((name) => archiveIn(join(folder, name)));
    assert.ok(first.equals(second));
    execFileSync('tar', ['xzf', join(folder, 'first', `stampgate-go-${VERSION}.tar.gz`)], { cwd: folder });
    assert.deepEqual(execFileSync('gofmt', ['-l', '.'], { cwd: source, encoding: 'utf8' }), '');
  });

  test('passes go vet, and its unit tests', async () => {
    await go(['vet', './...']);
    await go(['test', '-count=1', './...']);
  });

  test('is used as its page says', async () => {
    const user = join(folder, 'user');
    mkdirSync(user);
    await go(['mod', 'init', 'example.com/user'], { cwd: user });
    cpSync(join(source, 'examples/list_pages/main.go'), join(user, 'main.go'));
    const commands = ['tar xzf', 'go mod edit', 'go get']
      .map((beginning) => commandIn(pageOf('go'), beginning).replaceAll('VERSION', VERSION))
      .join('\n');
    cpSync(join(folder, 'first', `stampgate-go-${VERSION}.tar.gz`), join(user, `stampgate-go-${VERSION}.tar.gz`));
    execFileSync('/bin/sh', ['-ec', commands], { cwd: user, env: { ...env, GOFLAGS: '' }, stdio: 'pipe' });
    await go(['build', '-o', 'list', '.'], { cwd: user });
  });

  test('has a page whose code is that of the examples', () => {
    const texts = examples().flatMap((name) => {
      const place = join(source, 'examples', name);
      return readdirSync(place).map((file) => linesOf(readFileSync(join(place, file), 'utf8')));
    });
    const blocks = snippetsOf('go').map(linesOf);
    assert.ok(blocks.length > 5);
    assert.deepEqual(
      blocks.filter((block) => !texts.some((text) => text.includes(block))),
      [],
    );
  });

  test('has examples that list, submit, wait, vote, stamp and handle errors', async (t) => {
    const place = scratch(t);
    const keys = [keyOf(place, 'main', 'gateway p256'), keyOf(place, 'approver', 'end user 1')];
    const { simulator, gateway } = await startStack(t, { events: true, config: { keys, callers: callers() } });
    const example = await buildExamples(place, gateway.address);
    const prints = async (name, more) => {
      const { status, stdout, output } = await example(name, { env: more });
      assert.equal(status, 0, output);
      return stdout;
    };
    const addresses = (await prints('list_pages')).trim().split('\n');
    assert.ok(addresses.length > 2);
    assert.equal(new Set(addresses).size, addresses.length);
    const policy = await prints('submit_safely');
    assert.match(policy, /^[0-9a-f-]{36}\n$/);
    assert.equal(await prints('submit_safely'), policy);
    assert.equal(await prints('stamp_login', { PRIVATE_KEY: apiKeyNamed('end user 1').privateKey }), 'true\n');
    simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_REJECTED' }]);
    const errors = (await prints('handle_errors')).split('\n');
    assert.match(errors[0], /^a query without a policy is faulty: policy_id: /);
    assert.match(errors[1], /^a query for an unknown policy was refused: NotFound upstream \S+ \(request \w{32}\)$/);
    assert.equal(errors[2], 'a submit was rejected by votes');
    simulator.addFaults([{ kind: 'pending', approvals: 2 }]);
    assert.equal(await prints('wait_and_vote'), 'ACTIVITY_STATUS_CONSENSUS_NEEDED\nACTIVITY_STATUS_COMPLETED\n');
  });

  test('has an example that continues after the last event when it is started again', async (t) => {
    const place = scratch(t);
    const { simulator, gateway } = await startStack(t, { events: true });
    const example = await buildExamples(place, gateway.address);
    /** Runs the example, and returns the ids of its events up to `last`. */
    const readTo = async (last) => {
      const { stdout } = await example('subscribe_and_resume', { until: new RegExp(`^${last} `, 'm') });
      return [...stdout.matchAll(/^\S+/gm)].map(([id]) => id);
    };
    for (const eventId of ['1', '2', '3']) await deliver(simulator, { eventId });
    assert.deepEqual(await readTo('3'), ['1', '2', '3']);
    for (const eventId of ['4', '5']) await deliver(simulator, { eventId });
    // The program may have been killed before it saved the cursor of event 3.
    const ids = await readTo('5');
    assert.deepEqual(ids.slice(-2), ['4', '5']);
    assert.ok(ids.length === 2 || ids.join() === '3,4,5', ids.join());
  });
});
