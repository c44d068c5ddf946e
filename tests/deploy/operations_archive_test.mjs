// Follows upstream as an operator does, without this tree: unpacks a release, runs the commands of the README in its
// archive of operations, and makes the gateway of the release carry out an operation that upstream has added. The
// packages that deploy/install has installed replace a download, and a file replaces upstream's registries.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { code, methods, methodsIn } from '../clients/gateway.mjs';
import { reconfigure } from '../end_to_end/policy_callers.mjs';
import { HANG_MS, grantOf, run, scratch, startGateway, writeKey } from '../end_to_end/harness.mjs';
import { installed } from '../paths.mjs';
import { blocksOf } from '../readme/pages.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { USER, runner, whyNoRun } from './image_tree.mjs';
import { IMAGE, VERSION, archiveOf, makeRelease, whyNoRelease } from './release_archives.mjs';
import { documentOf } from './upstream_document.mjs';

const DAY = '2026-12-15';
const BREW = 'OrganizationService/BrewTea';
const parameters = { leaves: 'hunter2', degrees: 90 };

/** The entry with which a later release reviews the submit. */
const ENTRY = `
brew_tea:
  area: wallet
  method: MakeTea
  text: Brews tea.
  class: write
  reason: It moves no asset.
`;

/** Adds the submit of the README to a catalog, as upstream would add it. */
function addBrewTea({ operations, messages, enums }) {
  const type = 'ACTIVITY_TYPE_BREW_TEA';
  operations['/public/v1/submit/brew_tea'] = [{ type, parameters: 'v1BrewTeaIntent', since: DAY }];
  const leaves = { kind: 'string', required: /** @type {const} */ (true) };
  messages.v1BrewTeaIntent = { members: { leaves, degrees: { kind: 'uint32' } } };
  messages.v1BrewTeaResult = { members: { potId: { kind: 'string' } } };
  messages.v1Intent.members.brewTeaIntent = { kind: 'v1BrewTeaIntent' };
  messages.v1Result.members.brewTeaResult = { kind: 'v1BrewTeaResult' };
  enums.v1ActivityType.values[type] = {};
}

/** Adds the methods of a file of operations to those that the test calls. */
function addMethods(file) {
  for (const [name, method] of methodsIn(readFileSync(file))) methods.set(name, method);
}

describe("an operator's way to a new operation", { timeout: 4 * HANG_MS, skip: whyNoRelease() ?? whyNoRun() }, () => {
  const release = makeRelease({ after });
  const root = scratch({ after });
  execFileSync('tar', ['-xzf', join(release, archiveOf(IMAGE)), '-C', root]);

  const place = scratch({ after });
  copyFileSync(join(release, archiveOf('operations')), join(place, archiveOf('operations')));
  const folder = join(place, `stampgate-${VERSION}-operations`);
  const file = join(folder, 'operations.binpb');
  /** The archive of a later release, which brings the operation too. */
  const later = join(place, 'later');
  const stampgate = runner(root, place);

  const programs = scratch({ after });
  const program = (name, text) => writeFileSync(join(programs, name), `#!/bin/sh -eu\n${text}\n`, { mode: 0o755 });
  // The runner changes the working folder.
  program('stampgate', `exec '${stampgate}' "$1" "$2" "$PWD/$3"`);
  const packages = join(installed('proto-generator', 'proto/generator/package-lock.json'), 'node_modules');
  program('npm', `[ "$*" = 'ci --omit=dev --prefix generator' ] && ln -s '${packages}' generator/node_modules`);

  /** Runs a command of the page. */
  const execute = (command, cwd = folder) =>
    run(['-c', 'cd "$0" && eval "$1"', cwd, command], {
      command: '/bin/sh',
      env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` },
      hangMs: 2 * HANG_MS,
    });

  const readme = ['-xzOf', archiveOf('operations'), `stampgate-${VERSION}-operations/README.md`];
  /** The page of the archive, without the indentation of its list. */
  const page = execFileSync('tar', readme, { cwd: place, encoding: 'utf8' }).replace(/^ {3}/gm, '');
  const commands = [...page.matchAll(/^ {4}(\S.*)$/gm)].map(([, command]) => command.replaceAll('VERSION', VERSION));

  it('is five commands, which need no clone', async (t) => {
    const began = Date.now();
    assert.equal(commands.length, 5);
    const [unpack, install, follow, ...compare] = commands;
    for (const [command, cwd] of [[unpack, place], [install]]) {
      const { status, stderr } = await execute(command, cwd);
      assert.equal(status, 0, `${command}: ${stderr}`);
    }
    const catalog = JSON.parse(readFileSync(join(folder, 'generator/published.json'), 'utf8'));
    addBrewTea(catalog);
    writeFileSync(join(place, 'upstream.json'), JSON.stringify(documentOf(catalog)));
    cpSync(folder, later, { recursive: true });
    assert.equal(follow, 'generator/update latest');
    const { status, stdout, stderr } = await execute(`generator/update --from ../upstream.json ${DAY}`);
    assert.equal(status, 0, stderr);
    assert.match(
      stdout,
      new RegExp(
        `^openapi ${DAY} of ${DAY}:\n(- .*BrewTea.*\n|- .*BREW_TEA.*\n)*- /public/v1/submit/brew_tea is new\\.\n\n` +
          'The reviewed tables have no entry for these elements; they have the safe defaults:\n' +
          '- operation /public/v1/submit/brew_tea\n(- field v1BrewTea.*\n)+\n\\d+ methods; \\d+ files changed\\.\n$',
      ),
    );
    const [diff, lint] = await Promise.all(compare.map((command) => execute(command)));
    for (const report of [diff, lint]) {
      assert.equal(report.status, 1, report.stderr);
      assert.match(report.stdout, /OrganizationService[./]BrewTea/);
    }
    t.diagnostic(`${commands.length} commands, ${((Date.now() - began) / 1000).toFixed(1)} s without downloads`);
  });

  it('gives the method the safe defaults that the page lists', () => {
    const service = readFileSync(join(folder, 'stampgate/v1/organization_service.proto'), 'utf8');
    const [, options] = /rpc BrewTea\(.*?\{(.*?)^ {2}\}/ms.exec(service);
    for (const option of ['policy_class: POLICY_CLASS_DANGEROUS', `since: "${DAY}"`, 'moves_unread_amount: true'])
      assert.ok(options.includes(option), option);
    const types = readFileSync(join(folder, 'stampgate/v1/organizations.proto'), 'utf8');
    const [, fields] = /message BrewTeaParameters \{(.*?)^\}/ms.exec(types);
    assert.match(fields, /string leaves = 1 \[[^\]]*secret = true/);
  });

  it('lets the gateway of the release carry out the operation after a reload', async (t) => {
    const [{ language, block }] = blocksOf(page);
    assert.deepEqual([language, block], ['yaml', 'operations: [/etc/stampgate/operations.binpb]\n']);
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const key = writeKey(place);
    chownSync(key, USER, USER);
    const keys = [{ name: 'main', file: key, all_organizations: true }];
    const gateway = await startGateway(
      t,
      simulator,
      { operator_name: 'Example', keys, reload_interval: '100ms' },
      { folder: place, command: stampgate },
    );
    addMethods(file);
    const request = { organization_id: ORGANIZATION, parameters };
    const refusal = async () => (await gateway.refusal(BREW, request)).code;
    assert.equal(await refusal(), code.UNIMPLEMENTED);
    await reconfigure(gateway, { operations: [file] });
    assert.equal(await refusal(), code.PERMISSION_DENIED, 'the class does not cover a newer operation');
    const limited = { classes: ['dangerous'], all_organizations: true, amount_limits: [{ chain: 'eip155:1' }] };
    const callersWith = (grant) => [{ name: 'loopback', loopback: true, grants: [grant] }];
    await reconfigure(gateway, { class_grants_as_of: DAY, callers: callersWith(limited) });
    assert.equal(await refusal(), code.PERMISSION_DENIED, 'a limit cannot be checked without guards');
    assert.equal(simulator.stats().requests, 0);

    await reconfigure(gateway, { class_grants_as_of: undefined, callers: callersWith(grantOf([BREW])) });
    const intent = { brewTeaIntent: parameters };
    const activity = { id: 'a', intent, result: { brewTeaResult: { potId: 'pot' } } };
    simulator.addFaults([{ kind: 'status', status: 200, body: JSON.stringify({ activity }) }]);
    const response = await gateway.call(BREW, request);
    assert.deepEqual(response.activity.result, { brew_tea_result: { pot_id: 'pot' } });
    const [sent] = simulator.requests();
    assert.equal(sent.path, '/public/v1/submit/brew_tea');
    const { timestampMs: _, ...body } = JSON.parse(sent.body);
    assert.deepEqual(body, { type: 'ACTIVITY_TYPE_BREW_TEA', organizationId: ORGANIZATION, parameters });

    simulator.addFaults([{ kind: 'status', status: 418, body: '{"code":3,"message":"I will not brew hunter2"}' }]);
    const error = await gateway.refusal(BREW, request);
    assert.match(error.details, /I will not brew/);
    assert.ok(!error.statusBytes.includes('hunter2'));
  });

  it('keeps its name beside that of a later release, whose class counts', async (t) => {
    appendFileSync(join(later, 'reviewed/operations.yaml'), ENTRY);
    const { status, stderr } = await execute(`generator/update --from ../upstream.json ${DAY}`, later);
    assert.equal(status, 0, stderr);
    const release = join(later, 'operations.binpb');
    addMethods(release);
    addMethods(file);
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const key = writeKey(place);
    chownSync(key, USER, USER);
    const gateway = await startGateway(
      t,
      simulator,
      {
        operator_name: 'Example',
        keys: [{ name: 'main', file: key, all_organizations: true }],
        operations: [release, file],
        class_grants_as_of: DAY,
        callers: [{ name: 'loopback', loopback: true, grants: [{ classes: ['write'], all_organizations: true }] }],
        reload_interval: '100ms',
      },
      { folder: place, command: stampgate },
    );
    const request = { organization_id: ORGANIZATION, parameters };
    const activity = { id: 'a', result: { brewTeaResult: { potId: 'pot' } } };
    for (const name of [BREW, 'WalletService/MakeTea']) {
      simulator.addFaults([{ kind: 'status', status: 200, body: JSON.stringify({ activity }) }]);
      const response = await gateway.call(name, request);
      assert.equal(response.activity.id, 'a');
    }
    const bodies = simulator.requests().map(({ body }) => ({ ...JSON.parse(body), timestampMs: '' }));
    assert.deepEqual(bodies[0], bodies[1]);
    await reconfigure(gateway, { operations: [release] });
    assert.equal((await gateway.refusal(BREW, request)).code, code.UNIMPLEMENTED);
  });
});
