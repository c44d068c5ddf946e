// Merges the releases of several sources: those that the tests pin, and small ones in which the sources differ.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../../tests/paths.mjs';
import { makeApi } from './api.mjs';
import { emptyCatalog, mergeReleases } from './catalog.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { readOpenApi } from './openapi.mjs';
import { crateRelease, noCrate, npmRelease, pythonRelease } from './pinned.mjs';
import { Reviewed } from './reviewed.mjs';
import { State } from './state.mjs';

const reviewed = new Reviewed(join(root, 'proto/reviewed'));

/** All orders of a list. */
const ordersOf = (list) =>
  list.length === 0
    ? [[]]
    : list.flatMap((one) => ordersOf(list.filter((each) => each !== one)).map((o) => [one, ...o]));

/** Which releases do not have each element of a catalog. */
function presenceOf({ operations, messages, enums }) {
  const elements = [
    ...Object.entries(operations).flatMap(([path, versions]) => versions.map((one) => [`${path} ${one.type}`, one])),
    ...Object.entries(messages).flatMap(([name, message]) => [
      [name, message],
      ...Object.entries(message.members).map(([member, one]) => [`${name}.${member}`, one]),
    ]),
    ...Object.entries(enums).flatMap(([name, { values }]) =>
      Object.entries(values).map(([value, one]) => [`${name} ${value}`, one]),
    ),
  ];
  return new Map(elements.map(([name, { gone, behind }]) => [name, { gone, behind }]));
}

describe("upstream's packages", { skip: noCrate }, () => {
  const releases = noCrate ? [] : [npmRelease(), pythonRelease(), crateRelease()];
  const union = emptyCatalog();
  const { changes, undecided } = noCrate ? {} : mergeReleases(union, releases, reviewed.sources);

  test('make the same catalog in each order', () => {
    for (const order of ordersOf(releases)) {
      const catalog = emptyCatalog();
      mergeReleases(catalog, order, reviewed.sources);
      assert.deepEqual(catalog, union);
    }
  });

  test('have and lack the same elements if one is followed long before another', () => {
    for (const order of ordersOf(releases)) {
      const catalog = emptyCatalog();
      for (const one of order) mergeReleases(catalog, [one], reviewed.sources);
      assert.deepEqual(presenceOf(catalog), presenceOf(union));
    }
  });

  test('differ in nothing that the table does not decide', () => {
    assert.deepEqual(undecided, []);
    for (const key of Object.keys(reviewed.sources)) {
      const { [key]: _, ...others } = reviewed.sources;
      const { undecided } = mergeReleases(emptyCatalog(), releases, others);
      assert.ok(
        undecided.some((sentence) => sentence.startsWith(`${key} `)),
        `${key} needs no decision`,
      );
    }
  });

  test('make a catalog with the union of their operations, of which those that two later ones lack are gone', () => {
    assert.equal(Object.keys(union.operations).length, 200);
    const gone = Object.entries(union.operations).filter(([, [version]]) => version.gone);
    assert.deepEqual(
      gone.map(([path, [version]]) => [path.split('/').pop(), version.gone]),
      [
        'get_organization',
        'get_velocity_control',
        'list_velocity_controls',
        'create_api_only_users',
        'create_velocity_control',
        'delete_velocity_control',
        'eth_send_raw_transaction',
      ].map((name) => [name, ['crate 0.17.1', 'python 0.2.1']]),
    );
    const [authenticators] = union.operations['/public/v1/query/get_wallet_authenticators'];
    assert.deepEqual(authenticators.behind, ['npm 1.10.0', 'python 0.2.1']);
    assert.equal(authenticators.since, '2026-10-30');
  });

  test('keep the kinds and the required members that npm states', () => {
    const npm = emptyCatalog();
    mergeReleases(npm, [releases[0]]);
    for (const [name, { members }] of Object.entries(npm.messages)) {
      for (const [member, { kind, required }] of Object.entries(members)) {
        const known = union.messages[name].members[member];
        assert.deepEqual([known.kind, known.kinds], [kind, undefined], `${name}.${member}`);
        assert.equal(known.required, required, `${name}.${member}`);
      }
    }
  });

  test('are named with what they add', () => {
    const sentences = new Map(changes.map(({ release, sentences }) => [release.source, sentences]));
    assert.deepEqual(sentences.get('npm'), []);
    assert.ok(sentences.get('python').includes('v1EarnWithdrawIntent.caip2 is new: string, required.'));
    assert.ok(sentences.get('python').includes('v1EarnWithdrawIntent.chainCaip2 is no longer published.'));
    assert.ok(sentences.get('crate').includes('/public/v1/submit/verify_wallet_authenticator is new.'));
    assert.ok(!sentences.get('crate').some((sentence) => sentence.includes('no longer published')));
  });

  test('state no size of numbers if only the one for Python is followed', () => {
    const { undecided } = mergeReleases(emptyCatalog(), [releases[1]], reviewed.sources);
    assert.ok(undecided.includes('v1UpdateRootQuorumIntent.threshold is a number whose size no source states.'));
  });

  test('never make a member required that callers could omit because the first source did not state it', () => {
    const catalog = emptyCatalog();
    mergeReleases(catalog, [releases[2]], reviewed.sources);
    const [{ sentences }] = mergeReleases(catalog, [releases[0]], reviewed.sources).changes;
    assert.equal(catalog.messages.v1GetUserRequest.members.userId.required, null);
    assert.ok(!sentences.some((sentence) => sentence.includes('is required')));
  });

  test('change nothing if a source publishes again what it had, though it is behind another one', () => {
    const catalog = structuredClone(union);
    const python = { ...releases[1], release: { ...releases[1].release, version: '0.2.2', day: '2026-11-05' } };
    const [{ sentences }] = mergeReleases(catalog, [python], reviewed.sources).changes;
    assert.deepEqual(sentences, []);
    assert.deepEqual({ ...catalog, releases: [] }, { ...union, releases: [] });
  });

  test('make protos in which their first operations have the numbers that they had', () => {
    const lock = new Lock(emptyLock());
    const npm = emptyCatalog();
    mergeReleases(npm, [releases[0]]);
    makeApi(reviewed.complete(npm), reviewed, lock);
    const before = structuredClone(lock.content);
    makeApi(reviewed.complete(union), reviewed, lock);
    for (const [message, numbers] of Object.entries(before.messages)) {
      for (const [field, number] of Object.entries(numbers)) {
        assert.equal(lock.content.messages[message][field], number, `${message}.${field}`);
      }
    }
  });

  describe('and update --check', () => {
    const state = new State(join(root, 'proto'));
    const npmOnly = new State(join(root, 'proto'));
    npmOnly.catalog = emptyCatalog();
    if (!noCrate) npmOnly.follow([releases[0]]);

    test('reports each of their differences in a line, and changes nothing', () => {
      const before = structuredClone(npmOnly.catalog);
      const lines = npmOnly.ahead(releases.slice(1));
      assert.deepEqual(npmOnly.catalog, before);
      assert.ok(
        lines.every((line) => /^(python 0\.2\.1 of 2026-10-21|crate 0\.17\.1 of 2026-10-30): .+\.$/.test(line)),
      );
      assert.ok(lines.includes('python 0.2.1 of 2026-10-21: /public/v1/query/get_swap_sponsorship_usage is new.'));
      assert.ok(
        lines.includes('crate 0.17.1 of 2026-10-30: v1User.walletAuthenticators is new: v1WalletAuthenticator[].'),
      );
      assert.equal(lines.length, 79);
    });

    test('reports nothing once they are followed, or while a source is behind', () => {
      const follower = new State(join(root, 'proto'));
      follower.catalog = structuredClone(union);
      const older = { ...releases[0], release: { ...releases[0].release, version: '1.9.9', day: '2026-09-20' } };
      assert.deepEqual(follower.ahead([older]), []);
      assert.ok(releases.every(({ release }) => follower.follows(release)));
    });

    test('knows the releases that the tree follows', () => {
      assert.ok(state.follows({ source: 'npm', version: '1.10.0' }));
      assert.ok(!state.follows({ source: 'crate', version: '1.10.0' }));
    });
  });
});

// Small releases.

const scalars = { text: { type: 'string' }, count: { type: 'integer', format: 'int32' }, flag: { type: 'boolean' } };

/**
 * A release as an OpenAPI document. `parts` are the members of its definitions: a word of `scalars`, one in brackets for
 * a list, another definition, or the texts that the member lists. A required member has "!" after its name. `submits` are
 * the activity types of its operations, and their parameters.
 */
function release(source, day, { parts = {}, submits = {}, enums = {} }) {
  const schemaOf = (kind) => {
    if (kind.startsWith('[')) return { type: 'array', items: schemaOf(kind.slice(1, -1)) };
    return scalars[kind] ?? { $ref: `#/definitions/${kind}` };
  };
  const object = (members) => ({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(members).map(([name, kind]) => [
        name.replace('!', ''),
        typeof kind === 'string' ? schemaOf(kind) : { type: 'string', enum: kind },
      ]),
    ),
    required: Object.keys(members).flatMap((name) => (name.endsWith('!') ? [name.slice(0, -1)] : [])),
  });
  const requests = Object.fromEntries(
    Object.entries(submits).map(([name, [type, parameters]]) => [
      `${name}Request`,
      { 'type!': [type], 'timestampMs!': 'text', 'organizationId!': 'text', 'parameters!': parameters },
    ]),
  );
  const all = { v1Intent: {}, v1Result: {}, v1ActivityResponse: {}, ...parts, ...requests };
  const published = readOpenApi({
    paths: Object.fromEntries(
      Object.keys(submits).map((name) => [
        `/public/v1/submit/${name}`,
        {
          post: {
            parameters: [{ in: 'body', schema: schemaOf(`${name}Request`) }],
            responses: { 200: { schema: schemaOf('v1ActivityResponse') } },
          },
        },
      ]),
    ),
    definitions: {
      ...Object.fromEntries(Object.entries(all).map(([name, members]) => [name, object(members)])),
      ...Object.fromEntries(Object.entries(enums).map(([name, values]) => [name, { type: 'string', enum: values }])),
    },
  });
  return { release: { source, version: day, day, integrity: '' }, published };
}

const make = (members, type = 'ACTIVITY_TYPE_MAKE') => ({
  parts: { v1MakeIntent: members },
  submits: { make: [type, 'v1MakeIntent'] },
});

/** Merges releases one after another. Returns the catalog and what the last one changes. */
function follow(releases, decisions = {}) {
  const catalog = emptyCatalog();
  let last = { changes: [], undecided: [] };
  for (const one of releases) last = mergeReleases(catalog, [one], decisions);
  return { catalog, sentences: last.changes[0].sentences, undecided: last.undecided };
}

const memberOf = ({ catalog }, name) => catalog.messages.v1MakeIntent.members[name];

test('a source that is behind removes nothing', () => {
  const newer = release('crate', '2026-03-02', make({ 'name!': 'text', 'size!': 'text' }));
  const older = release('python', '2026-03-01', make({ 'name!': 'text' }));
  const followed = follow([newer, older]);
  assert.deepEqual(followed.sentences, []);
  assert.deepEqual(memberOf(followed, 'size'), { kind: 'string', required: true, behind: ['python 2026-03-01'] });
});

test('a member is gone once every source of a later day lacks it, and published again if a later one has it', () => {
  const both = make({ name: 'text', size: 'text' });
  const one = make({ name: 'text' });
  const releases = [release('npm', '2026-01-01', both), release('crate', '2026-01-03', both)];
  const behind = follow([...releases, release('python', '2026-01-02', one)]);
  assert.deepEqual(memberOf(behind, 'size').behind, ['python 2026-01-02']);
  const gone = follow([...releases, release('python', '2026-01-04', one)]);
  assert.deepEqual(memberOf(gone, 'size').gone, ['python 2026-01-04']);
  assert.deepEqual(gone.sentences, ['v1MakeIntent.size is no longer published.']);
  const again = follow([...releases, release('python', '2026-01-04', one), release('npm', '2026-01-05', both)]);
  assert.deepEqual(memberOf(again, 'size'), { kind: 'string', behind: ['python 2026-01-04'] });
  assert.deepEqual(again.sentences, ['v1MakeIntent.size is published again.']);
});

test('an operation that an earlier source knows too keeps the day on which callers got it', () => {
  const followed = follow([release('crate', '2026-02-02', make({})), release('npm', '2026-02-01', make({}))]);
  assert.equal(followed.catalog.operations['/public/v1/submit/make'][0].since, '2026-02-02');
});

test('a version of an operation that only earlier sources have is gone, and the later ones have theirs', () => {
  const later = release('npm', '2026-01-01', make({}, 'ACTIVITY_TYPE_MAKE_V3'));
  const { catalog, sentences } = follow([later, release('crate', '2026-01-02', make({}, 'ACTIVITY_TYPE_MAKE_V2'))]);
  const versions = catalog.operations['/public/v1/submit/make'];
  assert.deepEqual(
    versions.map(({ type, gone, behind }) => [type, gone, behind]),
    [
      ['ACTIVITY_TYPE_MAKE_V3', ['crate 2026-01-02'], undefined],
      ['ACTIVITY_TYPE_MAKE_V2', undefined, undefined],
    ],
  );
  assert.deepEqual(sentences, [
    '/public/v1/submit/make is no longer published with the activity type ACTIVITY_TYPE_MAKE_V3.',
    '/public/v1/submit/make has a new version: activity type ACTIVITY_TYPE_MAKE_V2.',
  ]);
});

describe('a disagreement of sources', () => {
  const texts = release('npm', '2026-01-01', make({ 'size!': 'text' }));
  const numbers = release('crate', '2026-01-02', make({ 'size!': 'count' }));
  const optional = release('crate', '2026-01-02', make({ size: 'text' }));
  const otherType = release('crate', '2026-01-02', make({ 'size!': 'text' }, 'ACTIVITY_TYPE_BUILD'));
  const reason = 'Because.';
  const place = 'v1MakeIntent.size';

  test('about a kind is undecided without an entry, and changes nothing', () => {
    const { catalog, undecided } = follow([texts, numbers]);
    assert.deepEqual(undecided, [`${place} is of kind int32 in crate 2026-01-02, and string elsewhere.`]);
    assert.deepEqual(catalog.messages.v1MakeIntent.members.size, { kind: 'string', required: true });
  });

  test('about a kind is decided by an entry', () => {
    const kept = follow([texts, numbers], { [place]: { kind: 'string', reason } });
    assert.deepEqual([kept.undecided, kept.sentences, memberOf(kept, 'size').kind], [[], [], 'string']);
  });

  test('about whether a member is required is undecided without an entry, in both directions', () => {
    assert.deepEqual(follow([texts, optional]).undecided, [
      `${place} is not required in crate 2026-01-02, unlike elsewhere.`,
    ]);
    const earlier = { ...optional, release: { ...optional.release, day: '2025-12-31' } };
    assert.deepEqual(follow([earlier, texts]).undecided, [`${place} is required in npm 2026-01-01, unlike elsewhere.`]);
  });

  test('about whether a member is required is decided by an entry', () => {
    for (const required of [true, false]) {
      const followed = follow([texts, optional], { [place]: { required, reason } });
      assert.deepEqual(followed.undecided, []);
      assert.equal(memberOf(followed, 'size').required, required || undefined);
    }
  });

  test('about an activity type is undecided without an entry, and is decided by one', () => {
    const path = '/public/v1/submit/make';
    assert.deepEqual(follow([texts, otherType]).undecided, [
      `${path} has the activity type ACTIVITY_TYPE_BUILD in crate 2026-01-02, and ACTIVITY_TYPE_MAKE elsewhere.`,
    ]);
    const { catalog, undecided } = follow([texts, otherType], { [path]: { type: 'ACTIVITY_TYPE_MAKE', reason } });
    assert.deepEqual(undecided, []);
    assert.equal(catalog.operations[path].length, 1);
  });

  test('is none if a source changes what only it has', () => {
    const later = release('npm', '2026-01-02', make({ size: 'count' }));
    const { sentences, undecided } = follow([texts, later]);
    assert.deepEqual(undecided, []);
    assert.match(sentences.join(), /was of kind string, and now is int32/);
  });

  test('is none if a source does not list the texts that another one lists', () => {
    const listed = release('npm', '2026-01-01', make({ size: ['small', 'large'] }));
    const text = release('python', '2026-01-02', make({ size: 'text' }));
    for (const decisions of [{}, { [place]: { kind: place, reason } }]) {
      const { catalog, undecided } = follow([listed, text], decisions);
      assert.deepEqual(undecided, []);
      assert.deepEqual(catalog.messages.v1MakeIntent.members.size, { kind: place });
      assert.deepEqual(catalog.enums[place], { values: { small: {}, large: {} } });
    }
    // A field that is a text in the protos stays one.
    const { catalog, undecided } = follow([text, listed]);
    assert.deepEqual([undecided, catalog.messages.v1MakeIntent.members.size], [[], { kind: 'string' }]);
  });
});

test('an OpenAPI document with every kind of change is followed, and each change is named', () => {
  const path = (name) => `/public/v1/submit/${name}`;
  const before = release('npm', '2026-01-01', {
    parts: {
      v1EarnIntent: { 'chainCaip2!': 'text', 'part!': 'v1Part' },
      v1PayIntent: { amount: 'text' },
      v1EndIntent: {},
      v1Part: { one: 'text', two: 'text' },
    },
    submits: {
      earn: ['ACTIVITY_TYPE_EARN', 'v1EarnIntent'],
      pay: ['ACTIVITY_TYPE_PAY', 'v1PayIntent'],
      end: ['ACTIVITY_TYPE_END', 'v1EndIntent'],
    },
  });
  const after = release('openapi', '2026-02-01', {
    parts: {
      // A rename, a new required member, and a message that is split.
      v1EarnIntent: { 'caip2!': 'text', 'owner!': 'text', 'first!': 'v1First', second: 'v1Second' },
      v1PayIntentV2: { amount: 'text', colour: 'v1Colour' },
      v1First: { 'one!': 'text' },
      v1Second: { two: '[text]' },
      v1GetIntent: {},
    },
    enums: { v1Colour: ['COLOUR_RED'] },
    submits: {
      earn: ['ACTIVITY_TYPE_EARN', 'v1EarnIntent'],
      pay: ['ACTIVITY_TYPE_PAY_V2', 'v1PayIntentV2'],
      get: ['ACTIVITY_TYPE_GET', 'v1GetIntent'],
    },
  });
  const { catalog, sentences, undecided } = follow([before, after]);
  assert.deepEqual(undecided, []);
  assert.deepEqual(sentences.sort(), [
    `${path('end')} is no longer published.`,
    `${path('get')} is new.`,
    `${path('pay')} has a new version: activity type ACTIVITY_TYPE_PAY_V2.`,
    'v1EarnIntent.caip2 is new: string, required.',
    'v1EarnIntent.chainCaip2 is no longer published.',
    'v1EarnIntent.first is new: v1First, required.',
    'v1EarnIntent.owner is new: string, required.',
    'v1EarnIntent.part is no longer published.',
    'v1EarnIntent.second is new: v1Second.',
  ]);
  const gone = ['openapi 2026-02-01'];
  const added = { added: 'openapi 2026-02-01', behind: ['npm 2026-01-01'] };
  assert.deepEqual(catalog.messages.v1EarnIntent.members, {
    chainCaip2: { kind: 'string', required: true, gone },
    part: { kind: 'v1Part', required: true, gone },
    caip2: { kind: 'string', ...added },
    owner: { kind: 'string', ...added },
    first: { kind: 'v1First', ...added },
    second: { kind: 'v1Second', ...added },
  });
  assert.deepEqual(catalog.messages.v1First, { members: { one: { kind: 'string', required: true } }, ...added });
  assert.deepEqual(catalog.operations[path('end')][0].gone, gone);
  assert.equal(catalog.operations[path('pay')].length, 2);
});
