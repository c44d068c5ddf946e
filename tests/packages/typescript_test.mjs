// Tests the package as its callers use it: its file, its page and its examples, in front of the real gateway.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildPackage, compile, installPackage, source } from '../../proto/clients/typescript/installed.mjs';
import { subscriptionConfig } from '../end_to_end/consumer.mjs';
import { scratch, startGateway, startStack } from '../end_to_end/harness.mjs';
import { ORGANIZATION, apiKeyNamed } from '../simulator/testing.mjs';
import { keyOf, readmeSnippets, run as runProgram, snippetsOf, testConsumer } from './packages.mjs';

const folder = mkdtempSync(join(tmpdir(), 'stampgate-client-'));
before(() => installPackage(folder));
after(() => rmSync(folder, { recursive: true }));

const IMPORTS = `import { connect } from '@stampgate/client';
import { Effect, PolicyService } from '@stampgate/client/v1';
`;
const snippets = [...snippetsOf('typescript'), ...readmeSnippets('ts').map((block) => IMPORTS + block)];
const examples = readdirSync(join(source, 'examples')).filter((name) => name.endsWith('.ts'));

/** Runs a program in the folder of the package; see run() of packages.mjs. */
async function run(file, args = [], options = {}) {
  const command = [process.execPath, join(folder, file), ...args];
  const { status, output } = await runProgram(command, { cwd: folder, signal: 'SIGTERM', ...options });
  return { status, output };
}

/** A gateway with a store. */
const WITH_STORE = { events: true };

test('two builds of the package are equal', (t) => {
  const again = mkdtempSync(join(tmpdir(), 'stampgate-client-'));
  t.after(() => rmSync(again, { recursive: true }));
  const bytes = readFileSync(join(folder, 'stampgate-client-0.0.0.tgz'));
  assert.ok(readFileSync(buildPackage(again)).equals(bytes));
});

describe('in front of the gateway', () => {
  before(() => {
    snippets.forEach((text, index) => writeFileSync(join(folder, `snippet${index}.ts`), text));
    for (const name of examples) copyFileSync(join(source, 'examples', name), join(folder, name));
    compile(folder, [...snippets.map((_, index) => `snippet${index}.ts`), ...examples]);
  });

  /** The program of the only snippet that contains the text, for the gateway at `address`, as plain JavaScript. */
  function snippet(text, { address }) {
    const [index, ...others] = snippets.flatMap((each, at) => (each.includes(text) ? [at] : []));
    assert.equal(others.length, 0);
    const file = `snippet${index}.js`;
    const compiled = readFileSync(join(folder, file), 'utf8');
    writeFileSync(join(folder, file), compiled.replace(/127\.0\.0\.1:\d+/, address));
    return file;
  }

  test('the snippets of the page and of README.md work', async (t) => {
    const { gateway, simulator } = await startStack(t, { ...WITH_STORE, config: subscriptionConfig() });
    const prints = async (text, expected, options) => {
      const { output } = await run(snippet(text, gateway), [], options);
      assert.match(output, expected);
    };
    await prints('listWalletAccounts', /^0x[0-9a-f]{40}$/m);
    await prints("key: 'order-4711'", /^\[ '[0-9a-f-]{36}' \]$/m, { until: /\]\n/ });
    await prints("key: 'policy-4711'", /^\[ '[0-9a-f-]{36}' \]$/m);
    await prints('error.violations', /^INVALID_ARGUMENT stampgate INVALID_REQUEST [0-9a-f]+\norganization_id /m);
    await prints('FakeGateway', /^p o$/m);
    const { privateKey: API_PRIVATE_KEY } = apiKeyNamed('gateway p256');
    await prints('apiKeyStamper', /^\w/m, { env: { API_PRIVATE_KEY } });
    assert.ok(simulator.requests().length > 0);
    await prints('FileCursor', /^\S+ \S+$/m, { until: /^\S+ \S+$/m });
    await prints('gateway.consume', /^\S+$/m, { until: /^\S+$/m });
  });

  test('the examples work', async (t) => {
    const { gateway, simulator } = await startStack(t, WITH_STORE);
    const { address } = gateway;
    const ofExample = (name, ...args) => run(`${name}.js`, [address, ...args]);
    assert.match((await ofExample('list_pages')).output, /^0x[0-9a-f]{40} m\/44'/m);
    const first = await ofExample('submit_safely');
    assert.match(first.output, /^\[ '[0-9a-f-]{36}' \]\n$/);
    assert.deepEqual(await ofExample('submit_safely'), first);
    const rename = { path: 'update_organization_name' };
    simulator.addFaults([{ kind: 'pending', approvals: 2, match: rename }]);
    const approver = await startGateway(t, simulator, { keys: [keyOf(scratch(t), 'approver', 'end user 1')] });
    assert.deepEqual(await ofExample('wait_and_vote', approver.address), {
      status: 0,
      output: 'renamed to Approved\n',
    });
    const invalid = await ofExample('handle_errors');
    const violation = 'INVALID_ARGUMENT INVALID_REQUEST: parameters.policies[0].policy_name: is required\n';
    assert.deepEqual(invalid, { status: 1, output: violation });
    assert.match((await ofExample('handle_errors', ORGANIZATION, 'New')).output, /^created [0-9a-f-]{36}\n$/);
    const handles = async (fault, expected) => {
      simulator.addFaults([{ match: { path: 'create_policies' }, ...fault }]);
      const { status, output } = await ofExample('handle_errors', ORGANIZATION, `New ${expected}`);
      assert.match(output, expected);
      assert.equal(status, 1);
    };
    await handles({ kind: 'pending' }, /waits for upstream/);
    await handles({ kind: 'pending', approvals: 3 }, /waits for votes/);
    await handles({ kind: 'activityStatus', status: 'ACTIVITY_STATUS_REJECTED' }, /^users rejected activity/);
    await handles({ kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED' }, /^activity \S+ failed: /);
    await handles({ kind: 'readAndClose', times: 100 }, /^upstream may have acted: .* the key [0-9a-f-]{36} again: /);
    simulator.clearFaults();
    await handles({ kind: 'error', code: 'PERMISSION_DENIED' }, /^PERMISSION_DENIED HTTP_403: /);
    const seen = /^(\S+) ACTIVITY_UPDATES COMPLETED$/m;
    const untilSeen = () => run('subscribe_and_resume.js', [address], { until: seen, signal: 'SIGINT' });
    const events = await untilSeen();
    assert.match(events.output, seen);
    await ofExample('handle_errors', ORGANIZATION, 'Later');
    const later = await untilSeen();
    assert.match(later.output, seen);
    assert.ok(!later.output.includes(events.output.split(' ')[0]));
    assert.deepEqual([events.status, later.status], [0, 0]);
    const { gateway: other } = await startStack(t, WITH_STORE);
    const { status, output } = await run('subscribe_and_resume.js', [other.address]);
    assert.equal(status, 1);
    assert.match(
      output,
      /^events are missing: CURSOR_OF_ANOTHER_LOG: .*\n.*: delete typescript\.cursor to begin again\n$/,
    );
  });

  test('the example that consumes shares events, parks what it cannot handle, and stops at SIGTERM', (t) =>
    testConsumer(t, (address, options) =>
      runProgram([process.execPath, join(folder, 'consume.js'), address], { cwd: folder, ...options }),
    ));
});
