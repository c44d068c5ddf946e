// Follows all releases of upstream's types that package.json lists, one after another, as if the project had done so
// from the first of them. Nothing is edited by hand in between.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from '../../tests/paths.mjs';
import { makeApi } from './api.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { printFile } from './print.mjs';
import { Replay, npmReleases, runBuf } from './replay.mjs';
import { Reviewed } from './reviewed.mjs';

const reviewed = new Reviewed(join(root, 'proto/reviewed'));
const work = mkdtempSync(join(tmpdir(), 'replay-'));
after(() => rmSync(work, { recursive: true }));

/** All facts of a release, each as a text that names it. */
function factsOf({ operations, messages, enums }) {
  const reached = new Set();
  const show = (kind) => {
    if (kind.kind === 'list') return `list of ${show(kind.of)}`;
    if (kind.kind === 'literals') return 'listed texts';
    if (kind.kind === 'definition') visit(kind.name);
    return kind.name ?? `${kind.kind} ${kind.format ?? ''}`;
  };
  const facts = new Map();
  const visit = (name) => {
    if (reached.has(name)) return;
    reached.add(name);
    for (const value of enums.get(name)?.values ?? []) facts.set(`${name} ${value}`, value);
    for (const member of messages.get(name)?.members ?? []) {
      const place = `${name}.${member.name}`;
      facts.set(`${place}: ${show(member.kind)}`, place);
      let { kind } = member;
      while (kind.kind === 'list') kind = kind.of;
      for (const value of kind.kind === 'literals' ? kind.values : []) facts.set(`${place} ${value}`, value);
    }
  };
  for (const { path, request, response } of operations) {
    facts.set(path, path);
    if (path.includes('/submit/')) {
      const members = messages.get(request).members;
      const [type] = members.find(({ name }) => name === 'type').kind.values;
      facts.set(`${path} ${type}`, type);
      visit(members.find(({ name }) => name === 'parameters').kind.name);
    } else {
      visit(request);
      visit(response);
    }
  }
  visit('v1Intent');
  visit('v1Result');
  return facts;
}

const releases = npmReleases();
const replay = new Replay(reviewed);
for (const one of releases) replay.follow([one]);
const { steps, catalog, lock } = replay;

test('the protos of each release compile, and can read every message of the release before', () => {
  let before;
  for (const step of steps) {
    const folder = join(work, step.version);
    replay.writeProtos(step, folder);
    runBuf(before ? ['breaking', '--against', before] : ['build'], folder);
    before = folder;
  }
});

test('no element ever changes its number', () => {
  for (const [index, step] of steps.entries()) {
    const { messages, enums } = index === 0 ? emptyLock() : steps[index - 1].lock;
    for (const [part, known] of Object.entries({ messages, enums })) {
      for (const [name, numbers] of Object.entries(known)) {
        for (const [element, number] of Object.entries(numbers)) {
          assert.equal(step.lock[part][name][element], number, `${step.version}: ${name}.${element}`);
        }
      }
    }
  }
});

test('no method disappears, and none changes its activity type', () => {
  const typeOf = ({ name, version }) => /** @type {const} */ ([name, version.type]);
  for (const [index, step] of steps.entries()) {
    const later = new Map(step.methods.map(typeOf));
    for (const [name, type] of index === 0 ? [] : steps[index - 1].methods.map(typeOf)) {
      assert.equal(later.get(name), type, `${step.version}: ${name}`);
    }
  }
});

test('every fact that differs between two releases is named', () => {
  let differences = 0;
  for (const [index, step] of steps.entries()) {
    if (index === 0) continue;
    const earlier = factsOf(releases[index - 1].published);
    const later = factsOf(releases[index].published);
    const changes = step.changes.join('\n');
    for (const [from, to] of [
      [earlier, later],
      [later, earlier],
    ]) {
      for (const [fact, name] of from) {
        if (to.has(fact)) continue;
        // A definition that is new as a whole has no line of its own: the member or the operation that uses it has one.
        const isPart =
          name.includes('.') && ![...to.keys()].some((other) => other.startsWith(`${name.split('.')[0]}.`));
        const isValue = !name.includes('.') && ![...to.keys()].some((other) => other.startsWith(fact.split(' ')[0]));
        if (isPart || isValue) continue;
        ++differences;
        assert.ok(changes.includes(name), `${step.version}: ${fact}`);
      }
    }
  }
  assert.ok(differences > 100, `only ${differences} differences`);
});

test('a release without changes says nothing', () => {
  const step = steps.find(({ version }) => version === '1.6.0');
  assert.deepEqual(step.changes, []);
  assert.deepEqual(step.texts, steps.find(({ version }) => version === '1.5.1').texts);
});

test('a shape that changed without a new version of its type is named, and has a new field', () => {
  const step = steps.find(({ version }) => version === '1.4.0');
  assert.ok(
    step.changes.includes(
      'v1EarnVault.provider was of kind string, and now is v1EarnProvider. ' + 'The type has no new version.',
    ),
  );
  const text = step.texts.get('stampgate/v1/earn.proto');
  assert.match(text, /message EarnVault \{[^}]*reserved "provider";[^}]*EarnProvider provider_v2 = /);
});

test('a second version of an activity type is a method of its own beside the first', () => {
  const names = steps.at(-1).methods.map(({ name }) => name);
  assert.ok(names.includes('SolSendTransaction'));
  assert.ok(names.includes('SolSendTransactionV2'));
});

test('a later version of an operation of the specification has a day, and shares the parameters of the first', () => {
  const later = structuredClone(catalog);
  const path = '/public/v1/submit/oauth';
  later.operations[path].push({ ...later.operations[path][0], type: 'ACTIVITY_TYPE_OAUTH_V2', since: '2026-12-01' });
  const { files, unreviewed } = makeApi(reviewed.complete(later), reviewed, new Lock(structuredClone(lock.content)));
  const text = printFile(files.find((file) => file.path === 'stampgate/v1/authentication_service.proto'));
  assert.match(text, /rpc OauthV2\([^}]*since: "2026-12-01"/);
  assert.match(text, /message OauthV2Request \{[^}]*OauthParameters parameters = 3/);
  assert.ok(unreviewed.includes('version ACTIVITY_TYPE_OAUTH_V2'));
});

test('a name that is public becomes secret in a member that a later release adds', () => {
  const later = structuredClone(catalog);
  later.messages.v1CreateWalletIntent.members.path = { kind: 'string', added: 'npm 9.9.9' };
  const { files, unreviewed } = makeApi(reviewed.complete(later), reviewed, new Lock(structuredClone(lock.content)));
  const text = printFile(files.find((file) => file.path === 'stampgate/v1/wallets.proto'));
  assert.match(text, /message CreateWalletParameters \{[^}]*string path = \d+ \[\(field\)\.secret = true\]/);
  assert.ok(unreviewed.includes('field v1CreateWalletIntent.path'));
});
