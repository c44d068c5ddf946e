// Runs the samples of the pages, with other ports and folders and otherwise unchanged.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { blocksOf, commandIn, pageAt } from './pages.mjs';
import { generate, runSample, shell } from './python.mjs';
import { subscriptionConfig } from '../end_to_end/consumer.mjs';
import { deliver, prepareEventStack, startEventStack } from '../end_to_end/event_stack.mjs';
import { HANG_MS, freeCaller, run, scratch, startStack } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { binary, goPrograms, installed, root } from '../paths.mjs';

const pages = ['README.md', 'proto/README.md', 'deploy/README.md', 'gateway/SECURITY.md'].map(pageAt).join('\n');
const PORT = '127.0.0.1:7443';

/** Returns the fenced block of this language that contains `text`. Fails unless the pages have exactly one. */
function fenced(language, text) {
  const blocks = blocksOf(pages).filter((each) => each.language === language);
  const found = blocks.map(({ block }) => block).filter((block) => block.includes(text));
  assert.equal(found.length, 1, `${found.length} ${language} blocks contain ${text}`);
  return found[0];
}

const command = (beginning, text = pages) => commandIn(text, beginning);

const folder = scratch({ after });

const runPython = (sample, address, onStart) => runSample(folder, sample, address, onStart);

before(() => generate(folder, command('python3 -m grpc_tools.protoc')));

describe('the sample of a submit', { timeout: 2 * HANG_MS }, () => {
  const sample = fenced('python', 'error_details_pb2');

  test('creates a policy', async (t) => {
    const { gateway } = await startStack(t, { config: { store: { sqlite: { folder: scratch(t) } } } });
    const { status, stdout, stderr } = await runPython(sample, gateway.address);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^3 \['[-0-9a-f]{36}'\]\n$/);
  });

  test('prints the reason of an unknown outcome, and repeats the submit with the same body', async (t) => {
    const { simulator, gateway } = await startStack(t, { config: { store: { sqlite: { folder: scratch(t) } } } });
    simulator.addFaults([{ kind: 'readAndClose' }]);
    const { stdout, stderr } = await runPython(sample, gateway.address);
    const [first, second] = stdout.split('\n');
    assert.match(first, /^UNKNOWN stampgate OUTCOME_UNKNOWN \{.*'fingerprint': 'sha256:[0-9a-f]{64}'.*\}$/, stderr);
    assert.match(second, /^3 \['[-0-9a-f]{36}'\]$/);
    const bodies = simulator.requests().map(({ body }) => body);
    assert.equal(bodies.length, 2);
    assert.equal(bodies[0], bodies[1]);
  });

  test('prints the violations of an invalid request, and does not repeat the request', async (t) => {
    const { simulator, gateway } = await startStack(t);
    const broken = sample.replace("policy_name='two of three', ", '');
    const { stdout } = await runPython(broken, gateway.address);
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(lines, [
      'INVALID_ARGUMENT stampgate INVALID_REQUEST {}',
      'parameters.policies[0].policy_name is required',
    ]);
    assert.equal(simulator.requests().length, 0);
  });

  for (const beginning of ['node deploy/call.mjs', 'grpcurl']) {
    test(`with ${beginning} prints accounts`, async (t) => {
      if (beginning === 'grpcurl' && !existsSync(join(goPrograms, 'grpcurl')))
        return t.skip('deploy/install found no Go for grpcurl');
      const { gateway } = await startStack(t);
      const text = `PATH=${goPrograms}:$PATH\n${command(beginning).replace(PORT, gateway.address)}`;
      const { status, stdout, stderr } = await shell(root, text);
      assert.equal(status, 0, stderr);
      return assert.ok(JSON.parse(stdout).accounts.length > 0);
    });
  }
});

test('the sample of a subscriber prints an event and saves its cursor', { timeout: HANG_MS }, async (t) => {
  const stack = await prepareEventStack(t);
  const gateway = await stack.start();
  const { eventId } = await deliver(stack.simulator);
  let printed = '';
  let process;
  const ended = runPython(fenced('python', 'SubscribeRequest(**'), gateway.address, (child) => {
    process = child;
    child.stdout.on('data', (data) => (printed += data));
  });
  await until(() => printed.includes(eventId) && existsSync(join(folder, 'cursor')), 'the event is printed');
  process.kill();
  await ended;
});

test('buf generate creates a Go package with the clients', { timeout: HANG_MS }, async (t) => {
  if (!existsSync(join(goPrograms, 'protoc-gen-go'))) return t.skip('deploy/install found no Go');
  const packages = installed('proto-generator', 'proto/generator/package-lock.json');
  const buf = join(packages, 'node_modules/@bufbuild/buf/bin');
  const path = [goPrograms, buf].join(delimiter);
  const place = scratch(t);
  const text = command('buf generate').replaceAll('proto', join(root, 'proto'));
  const { status, stderr } = await shell(place, `export PATH=${path}:$PATH BUF_CACHE_DIR=$PWD/cache\n${text}`);
  assert.equal(status, 0, stderr);
  const stub = readFileSync(join(place, 'gen/stampgate/v1/wallet_service_grpc.pb.go'), 'utf8');
  return assert.match(stub, /^package stampgatev1$[^]*^type WalletServiceClient interface/m);
});

describe('samples of certificates and configs', { timeout: HANG_MS }, () => {
  const place = join(folder, 'config');
  const paths = (names) => Object.fromEntries(Object.entries(names).map(([key, name]) => [key, join(place, name)]));

  before(async () => {
    mkdirSync(place);
    const { status, stderr } = await shell(place, fenced('sh', 'openssl req'));
    assert.equal(status, 0, stderr);
    const keygen = ['keygen', '--curve', 'p256', '--out'];
    for (const args of [
      ['audit', 'keygen', '--out', 'audit.key'],
      [...keygen, 'main.key'],
      [...keygen, 'treasury.key'],
    ]) {
      assert.equal((await run(args.with(-1, join(place, args.at(-1))))).status, 0);
    }
    writeFileSync(join(place, 'customers.txt'), '11111111-2222-4333-8444-555555555555\n');
  });

  const sample = (text) => fenced('yaml', text).replaceAll('/etc/stampgate/', '').replace('/var/lib/stampgate', place);
  const least = sample('loopback: true');
  const rest = 'upstream: {base_url: "https://api.example.com"}\nstore: {sqlite: {folder: "."}}\n';
  const strict = least.replace('loopback: true', 'spiffe_ids: [spiffe://example.org/payments]');
  for (const [what, text] of [
    ['that is minimal', least],
    ['with webhooks', least + sample('webhooks:')],
    ['with TLS', strict + sample('tls: {')],
    ['for three teams', `${rest}${sample('name: treasury')}`],
  ]) {
    test(`the config ${what} passes stampgate check`, async () => {
      const file = join(place, 'stampgate.yaml');
      writeFileSync(file, text);
      const { status, stderr } = await run(['check', '--config', file]);
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    });
  }

  test('the commands in deploy/README.md generate keys and check a config', async () => {
    const begun = mkdirSync(join(place, 'commands'), { recursive: true });
    writeFileSync(join(begun, 'stampgate.yaml'), least);
    for (const beginning of ['stampgate keygen', 'stampgate audit keygen', 'stampgate check --config stampgate.yaml']) {
      // Spaces separate the command from its description.
      const [line] = command(beginning, pageAt('deploy/README.md')).split(/ {2,}/);
      const { status, stderr } = await shell(begun, `PATH=${dirname(binary('gateway/stampgate'))}:$PATH\n${line}`);
      assert.equal(status, 0, stderr);
    }
  });

  test('the commands in deploy/README.md show and mend a shared subscription', async (t) => {
    const grants = [{ classes: ['events', 'dangerous'], all_organizations: true }];
    const { gateway } = await startEventStack(t, {
      config: { ...subscriptionConfig(), callers: [{ name: 'loopback', loopback: true, grants }] },
    });
    const commands = fenced('sh', 'stampgate subscriptions').replaceAll(PORT, gateway.address);
    const path = dirname(binary('gateway/stampgate'));
    const { status, stdout, stderr } = await shell(folder, `set -e\nPATH=${path}:$PATH\n${commands}`);
    assert.equal(status, 0, stderr);
    assert.equal(stdout.match(/payouts/g).length, 3, 'list, show and seek print the name');
  });

  test('a caller with the sample certificates can make a call', async (t) => {
    const files = { certificate_file: 'tls.crt', private_key_file: 'tls.key', client_ca_file: 'ca.crt' };
    const caller = { ...freeCaller()[0], loopback: undefined, spiffe_ids: ['spiffe://example.org/payments'] };
    const audit = paths({ file: 'audit.log', key_file: 'audit.key' });
    const { gateway } = await startStack(t, { config: { tls: paths(files), audit, callers: [caller] } });
    const [, channel] = /`(grpc\.secure_channel.*)`/.exec(pages);
    for (const host of ['localhost', '127.0.0.1']) {
      const text = `import grpc
from stampgate.v1 import wallet_service_pb2, wallet_service_pb2_grpc
ca, key, certificate = (open('config/' + name, 'rb').read() for name in ('ca.crt', 'payments.key', 'payments.crt'))
channel = ${channel.replace('localhost:7443', gateway.address.replace(/.*:/, `${host}:`))}
request = wallet_service_pb2.ListWalletAccountsRequest(organization_id='11111111-2222-4333-8444-555555555555')
print(len(wallet_service_pb2_grpc.WalletServiceStub(channel).ListWalletAccounts(request, timeout=5).accounts))
`;
      writeFileSync(join(folder, 'secure.py'), text);
      const { status, stdout, stderr } = await shell(folder, 'exec python3 secure.py');
      assert.equal(status, 0, stderr);
      assert.ok(Number(stdout) > 0);
    }
  });
});
