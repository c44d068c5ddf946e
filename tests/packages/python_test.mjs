// Tests the package for Python: its build, its unit tests, its types, its page and its examples.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { subscriptionConfig } from '../end_to_end/consumer.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { HANG_MS, scratch, startStack } from '../end_to_end/harness.mjs';
import { callerOf, tokenOf } from '../end_to_end/policy_callers.mjs';
import { installed, root } from '../paths.mjs';
import { ORGANIZATION, apiKeyNamed } from '../simulator/testing.mjs';
import { keyOf, readmeSnippets, run, snippetsOf, testConsumer } from './packages.mjs';

const runs = promisify(execFile);
const clients = join(root, 'proto/clients');
const libraries = installed('readme-python', 'tests/readme/requirements.txt');
const types = installed('client-python', 'proto/clients/python/requirements.txt');

const folder = scratch({ after });
const site = join(folder, 'site');
const env = {
  ...process.env,
  PYTHONPATH: [site, libraries].join(delimiter),
  PYTHONUNBUFFERED: '1',
  PYTHONDONTWRITEBYTECODE: '1',
};

/** Runs Debian's Python with the package. Fails if its exit status is another one. */
async function python(args, { more = {}, status = 0 } = {}) {
  const ended = await run(['/usr/bin/python3', ...args], { cwd: folder, env: { ...env, ...more } });
  assert.equal(ended.status, status, ended.output);
  return ended;
}

/**
 * Runs Debian's Python with the package until its output matches, and kills it then.
 * @returns {Promise<string>} its output
 */
async function pythonUntil(until, args) {
  const { stdout, output } = await run(['/usr/bin/python3', ...args], { cwd: folder, env, until });
  assert.match(output, until);
  return stdout;
}

const fileOf = (name) => join(clients, 'python/examples', name);

/** Runs the example, and resolves to its output. */
async function example(name, ...args) {
  const { stdout } = await python([fileOf(name), ...args]);
  return stdout;
}

const build = (target) => runs(join(clients, 'build'), ['1.2.3-rc.1', target, 'python']);

const wheel = 'stampgate-1.2.3rc1-py3-none-any.whl';

before(async () => {
  await build(join(folder, 'packages'));
  await runs('/usr/bin/python3', ['-m', 'zipfile', '-e', join(folder, 'packages', wheel), site]);
});

test('the wheel has the same bytes when it is built again', async () => {
  await build(join(folder, 'again'));
  assert.deepEqual(readdirSync(join(folder, 'again')), [wheel]);
  assert.ok(readFileSync(join(folder, 'packages', wheel)).equals(readFileSync(join(folder, 'again', wheel))));
});

test('the unit tests of the package pass', { timeout: 2 * HANG_MS }, () =>
  python(['-m', 'unittest', 'discover', '--start-directory', join(clients, 'python/tests'), '--pattern', '*_test.py']),
);

test('mypy accepts the package and the examples', { timeout: 2 * HANG_MS }, async () => {
  const examples = readdirSync(join(clients, 'python/examples')).map((name) => join(clients, 'python/examples', name));
  const flags = ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy')];
  const more = { PYTHONPATH: [site, types, libraries].join(delimiter) };
  await python([...flags, ...examples], { more });
  const wrong = 'import stampgate\nstampgate.connect(4711)\n';
  await assert.rejects(python([...flags, '-c', wrong], { more }), /Argument 1 to "Channel"/);
});

/** Starts a gateway with a store and events. */
const start = (t, config = {}) => startStack(t, { events: true, config });

test('the snippets of the page run', { timeout: 2 * HANG_MS }, async (t) => {
  const { simulator, gateway } = await start(t, subscriptionConfig());
  await deliver(simulator, { eventId: 'first', json: { type: 'note' } });
  const blocks = snippetsOf('python');
  assert.ok(blocks.length > 5);
  // These two have no end.
  const isLoop = (block) => /stampgate\.(subscribe|consume)\(/.test(block);
  const { publicKey, privateKey } = apiKeyNamed('end user 1');
  const finite = [
    `PUBLIC_KEY, PRIVATE_KEY = '${publicKey}', '${privateKey}'`,
    ...blocks.filter((block) => !isLoop(block)),
  ];
  const [subscribe, consume] = blocks.filter(isLoop);
  const prints = (script, until) =>
    pythonUntil(until, ['-c', script.join('\n').replaceAll('127.0.0.1:7443', gateway.address)]);
  const stdout = await prints([...finite, subscribe], /first note/);
  await prints([finite[1], consume], /^first$/m);
  assert.match(stdout, /^0x[0-9a-f]{40}\n/i);
  assert.match(stdout, /\['[-0-9a-f]{36}'\]\n/);
  assert.match(stdout, /StatusCode.INVALID_ARGUMENT stampgate INVALID_REQUEST [0-9a-f]{32}\npolicy_id is required\n/);
});

test('the snippets of README.md run', { timeout: 2 * HANG_MS }, async (t) => {
  const { gateway } = await start(t, subscriptionConfig());
  const names = {
    stampgate: ['connect'],
    'stampgate.v1.event_service_pb2': ['SubscribeRequest'],
    'stampgate.v1.event_service_pb2_grpc': ['EventServiceStub'],
    'stampgate.v1.policies_pb2': ['EFFECT_ALLOW'],
    'stampgate.v1.policy_service_pb2': ['CreatePoliciesRequest'],
    'stampgate.v1.policy_service_pb2_grpc': ['PolicyServiceStub'],
    'stampgate.v1.subscription_service_pb2_grpc': ['SubscriptionServiceStub'],
  };
  const imports = Object.entries(names).map(([module, name]) => `import ${module}\nfrom ${module} import ${name}\n`);
  const [submit, subscribe, consume, ...others] = readmeSnippets('python');
  assert.equal(others.length, 0);
  const prints = (until, ...blocks) => {
    const script = [...imports, ...blocks].join('').replaceAll('127.0.0.1:7443', gateway.address);
    return pythonUntil(until, ['-c', script.replace("'cursor'", `'${scratch(t)}/cursor'`)]);
  };
  // The submit causes the event.
  const stdout = await prints(/ACTIVITY_TYPE_CREATE_POLICIES/, submit, subscribe);
  assert.match(stdout, /^\['[-0-9a-f]{36}'\]\n\S+ ACTIVITY_TYPE_CREATE_POLICIES/);
  await prints(/^\S+\n/, consume);
});

describe('the example', { timeout: 2 * HANG_MS }, () => {
  test('list_pages.py prints every account, whatever the size of a page is', async (t) => {
    const { gateway } = await start(t);
    const all = await example('list_pages.py', gateway.address, ORGANIZATION);
    const program = `import list_pages; list_pages.PAGE_SIZE = 1; list_pages.main('${gateway.address}', '${ORGANIZATION}')`;
    const more = { PYTHONPATH: [join(clients, 'python/examples'), env.PYTHONPATH].join(delimiter) };
    const { stdout } = await python(['-c', program], { more });
    assert.ok(all.split('\n').length > 2);
    assert.equal(stdout, all);
  });

  test('submit_safely.py creates one policy, also if it runs again', async (t) => {
    const { simulator, gateway } = await start(t);
    simulator.addFaults([{ kind: 'readAndClose' }]);
    const first = await example('submit_safely.py', gateway.address, ORGANIZATION, 'order-4711');
    assert.equal(await example('submit_safely.py', gateway.address, ORGANIZATION, 'order-4711'), first);
    assert.match(first, /^[-0-9a-f]{36}\n$/);
    assert.equal(simulator.service.state.activitiesById.size, 1);
  });

  test('handle_errors.py prints what to do about each kind of error', async (t) => {
    const { simulator, gateway } = await start(t);
    /** The output for an error. */
    const failed = async (...args) => {
      const { output } = await python([fileOf('handle_errors.py'), ...args], { status: 1 });
      return output;
    };
    const create = (address = gateway.address) => failed(address, ORGANIZATION, 'x');
    const unreachable = create('127.0.0.1:1');
    assert.match(await example('handle_errors.py', gateway.address, ORGANIZATION, 'x'), /^created [-0-9a-f]{36}\n$/);
    const activities = simulator.service.state.activitiesById.size;
    assert.equal(
      await failed(gateway.address),
      'INVALID_ARGUMENT INVALID_REQUEST: parameters.policies[0].policy_name: is required\n',
    );
    assert.equal(simulator.service.state.activitiesById.size, activities);
    /** @type {[object, RegExp][]} */
    const faults = [
      [{ kind: 'pending', approvals: 2 }, /^wait for the activity /],
      [{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_REJECTED' }, /^users rejected the activity /],
      [
        { kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED', failure: { code: 3, message: 'it failed' } },
        /^the activity .* failed: it failed\n$/,
      ],
      [{ kind: 'status', status: 403 }, /^upstream refused the call: PERMISSION_DENIED HTTP_403: /],
      [{ kind: 'readAndClose', times: 'always' }, /^repeat the submit with the key [-0-9a-f]{36}: /],
    ];
    for (const [fault, printed] of faults) {
      simulator.addFaults([fault]);
      assert.match(await create(), printed);
    }
    assert.match(await unreachable, /^the gateway cannot be reached: /);
    const { gateway: strict } = await start(t, { callers: [{ name: 'reader', loopback: true, grants: [] }] });
    assert.match(await create(strict.address), /^the gateway does not allow PolicyService\/CreatePolicies to reader/);
  });

  test('wait_and_vote.py waits until a second caller has voted', async (t) => {
    const keys = scratch(t);
    const rename = {
      methods: ['OrganizationService/UpdateOrganizationName'],
      all_organizations: true,
      key: 'proposer',
    };
    const vote = { methods: ['ActivityService/ApproveActivity'], all_organizations: true, key: 'approver' };
    const { simulator, gateway } = await start(t, {
      keys: [keyOf(keys, 'proposer', 'gateway p256'), keyOf(keys, 'approver', 'end user 1')],
      callers: [{ name: 'proposer', loopback: true, grants: [rename] }, callerOf('approver', [vote])],
    });
    simulator.addFaults([{ kind: 'pending', approvals: 2, match: { path: 'update_organization_name' } }]);
    const printed = await example('wait_and_vote.py', gateway.address, ORGANIZATION, 'Approved', tokenOf('approver'));
    assert.match(printed, /^the activity needs votes: \S+\nrenamed: Approved\n$/);
  });

  test('subscribe_and_resume.py misses no event when it is killed', async (t) => {
    const { simulator, gateway } = await start(t);
    const cursor = join(scratch(t), 'cursor');
    const file = fileOf('subscribe_and_resume.py');
    /** The ids of the events that the example prints until it has printed this one. */
    const until = async (eventId) => {
      const output = await pythonUntil(new RegExp(`^${eventId} note`, 'm'), [file, gateway.address, cursor]);
      return output
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]);
    };
    const send = (eventId) => deliver(simulator, { eventId, json: { type: 'note' } });
    for (const eventId of ['one', 'two']) await send(eventId);
    const earlier = await until('two');
    await send('three');
    const later = await until('three');
    assert.deepEqual([...new Set([...earlier, ...later])], ['one', 'two', 'three']);
    assert.ok(!later.includes('one'));
  });

  test('subscribe_and_resume.py ends quietly, and refuses the cursor of another event log', async (t) => {
    const { simulator, gateway } = await start(t);
    const file = fileOf('subscribe_and_resume.py');
    for (const eventId of ['one', 'two']) await deliver(simulator, { eventId, json: { type: 'note' } });
    const cwd = scratch(t);
    const interrupted = await run(['/usr/bin/python3', file, gateway.address], {
      cwd,
      env,
      until: /^two .*\n/m,
      signal: 'SIGINT',
    });
    assert.equal(interrupted.status, 0, interrupted.output);
    assert.equal(interrupted.output, 'one note ACTIVITY_STATUS_UNSPECIFIED\ntwo note ACTIVITY_STATUS_UNSPECIFIED\n');

    const { gateway: another } = await start(t);
    const cursor = join(cwd, 'python.cursor');
    const { output } = await python([file, another.address, cursor], { status: 1 });
    assert.equal(output, `CURSOR_OF_ANOTHER_LOG: delete the file ${cursor} to begin again at the earliest event\n`);
  });

  test('consume.py shares events, parks what it cannot handle, and stops at SIGTERM', (t) =>
    testConsumer(t, (address, options) =>
      run(['/usr/bin/python3', fileOf('consume.py'), address], { cwd: folder, env, ...options }),
    ));
});
