// Builds the Go module, uses it as its page says, and runs its tests and examples with a real gateway.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { HANG_MS, scratch, startStack } from '../end_to_end/harness.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { commandIn } from '../readme/pages.mjs';
import { ORGANIZATION, apiKeyNamed } from '../simulator/testing.mjs';
import { keyOf, pageOf, readmeSnippets, run, snippetsOf, sourceOf, testConsumer } from './packages.mjs';

const VERSION = '0.1.0';

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

/** Runs an example that the tests have built. `options` is that of run(). */
const example = (name, args, options) => run([join(folder, 'bin', name), ...args], options);

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

  test('passes go vet and its unit tests, and builds its examples', async () => {
    await go(['vet', './...']);
    await go(['test', '-count=1', './...']);
    mkdirSync(join(folder, 'bin'));
    await go(['build', '-o', join(folder, 'bin'), ...programs().map((name) => `./examples/${name}`)]);
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

  test('carries out the snippet of README.md', async (t) => {
    const [block, ...others] = readmeSnippets('go');
    assert.equal(others.length, 0);
    const program = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "${ORGANIZATION}"

func main() {
	ctx := context.Background()
	conn, err := stampgate.Dial(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
${block}}
`;
    const place = mkdtempSync(join(module, 'readme-'));
    writeFileSync(join(place, 'main.go'), program);
    const { gateway } = await startStack(t, { events: true });
    assert.match(await go(['run', place, gateway.address]), /^\[[-0-9a-f]{36}\] <nil>\n$/);
  });

  test('has examples that list, submit, wait, vote and stamp', async (t) => {
    const place = scratch(t);
    const keys = [keyOf(place, 'main', 'gateway p256'), keyOf(place, 'approver', 'end user 1')];
    const { simulator, gateway } = await startStack(t, { events: true, config: { keys, callers: callers() } });
    const prints = async (name, env) => {
      const { status, stdout, output } = await example(name, [gateway.address], { cwd: place, env });
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
    simulator.addFaults([{ kind: 'pending', approvals: 2 }]);
    assert.equal(await prints('wait_and_vote'), 'ACTIVITY_STATUS_CONSENSUS_NEEDED\nACTIVITY_STATUS_COMPLETED\n');
  });

  test('has an example that handles each kind of error', async (t) => {
    const place = scratch(t);
    const { simulator, gateway } = await startStack(t, { events: true });
    const handles = async (expected, ...args) => {
      const { status, stdout, output } = await example('handle_errors', args, { cwd: place });
      assert.match(stdout, expected, output);
      assert.equal(status, expected.source.startsWith('^created') ? 0 : 1, output);
    };
    const required = /^InvalidArgument INVALID_REQUEST: parameters\.policies\[0\]\.policy_name: is required\n$/;
    await handles(required, gateway.address);
    assert.ok(!simulator.requests().some(({ path }) => path.includes('/submit/')));
    const creates = (expected) => handles(expected, gateway.address, ORGANIZATION, 'two of three');
    await creates(/^created [0-9a-f-]{36}\n$/);
    /** @type {[object, RegExp][]} */
    const faults = [
      [{ kind: 'pending', approvals: 2 }, /^activity \S+ has not ended: ACTIVITY_STATUS_CONSENSUS_NEEDED\n$/],
      [{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_REJECTED' }, /^users rejected activity \S+\n$/],
      [
        { kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED', failure: { code: 3, message: 'it failed' } },
        /^activity \S+ failed: it failed\n$/,
      ],
      [
        { kind: 'status', status: 403 },
        /^upstream refused the request: PermissionDenied HTTP_403: .* \(request \w{32}\)\n$/,
      ],
      [{ kind: 'readAndClose', times: 'always' }, /^upstream may have acted: .* with the key [A-Z2-7]{26}\n$/],
    ];
    for (const [fault, expected] of faults) {
      simulator.addFaults([fault]);
      await creates(expected);
    }
    await handles(/^Unavailable: .*connection refused"\n$/, '127.0.0.1:1', ORGANIZATION, 'two of three');
    const callers = [{ name: 'reader', loopback: true, grants: [] }];
    const { gateway: strict } = await startStack(t, { events: true, config: { callers } });
    const denied = /^the gateway does not allow PolicyService\/CreatePolicies to reader\n$/;
    await handles(denied, strict.address, ORGANIZATION, 'two of three');
  });

  test('has an example that continues after the last event when it is started again', async (t) => {
    const place = scratch(t);
    const { simulator, gateway } = await startStack(t, { events: true });
    /** Runs the example until it has printed the event `last`. */
    const readTo = (last, signal) =>
      example('subscribe_and_resume', [gateway.address], { cwd: place, until: new RegExp(`^${last} `, 'm'), signal });
    const idsOf = ({ stdout }) => [...stdout.matchAll(/^\S+/gm)].map(([id]) => id);
    for (const eventId of ['1', '2', '3']) await deliver(simulator, { eventId });
    assert.deepEqual(idsOf(await readTo('3')), ['1', '2', '3']);
    for (const eventId of ['4', '5']) await deliver(simulator, { eventId });
    // The program may have been killed before it saved the cursor of event 3.
    const ids = idsOf(await readTo('5'));
    assert.deepEqual(ids.slice(-2), ['4', '5']);
    assert.ok(ids.length === 2 || ids.join() === '3,4,5', ids.join());

    await deliver(simulator, { eventId: '6' });
    const { status, stdout, output } = await readTo('6', 'SIGINT');
    assert.equal(status, 0);
    assert.equal(output, stdout);
    assert.match(stdout, /^6 \S+ ACTIVITY_STATUS_[A-Z]+$/m);

    const { gateway: other } = await startStack(t, { events: true });
    const ended = await example('subscribe_and_resume', [other.address], { cwd: place });
    assert.equal(ended.status, 1);
    assert.match(ended.output, /CURSOR_OF_ANOTHER_LOG: .*; delete go\.cursor to begin again\n$/);
  });

  test('has an example that shares events, parks what it cannot handle, and stops at SIGTERM', (t) =>
    testConsumer(t, (address, options) => example('consume', [address], { cwd: folder, ...options })));
});
