// A gateway that contains the oldest API of upstream's types follows all later releases and a made-up one with every kind
// of change. It reads each from a file, one after another, while callers call: no call fails, no caller gains a right,
// and only what contradicts the oldest API has no effect.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { crateRelease, noCrate, pythonRelease } from '../../proto/generator/pinned.mjs';
import { Replay, npmReleases, runBuf } from '../../proto/generator/replay.mjs';
import { Reviewed } from '../../proto/generator/reviewed.mjs';
import { code, methods, methodsIn } from '../clients/gateway.mjs';
import { root } from '../paths.mjs';
import { END_USER, ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { elementsOf, protosIn, protosServed } from './api_elements.mjs';
import { failuresIn, startCalls, successesIn } from './call_loops.mjs';
import { earlierGateway } from './earlier_gateway.mjs';
import { HANG_MS, freeCaller, grantOf, putConfig, run, scratch, startStack } from './harness.mjs';
import { MADE_UP, madeUpRelease, review } from './made_up_release.mjs';
import { operations } from './operations.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';
import { until } from './processes.mjs';

/**
 * What has no effect since a release, because the oldest API defines it otherwise: the new fields of changed messages,
 * new methods and fields that need such a message, and the messages and enums that only these need. `freed` are messages
 * and enums that something else needs since this release.
 */
const REFUSALS = [
  {
    // `provider` was a text, and is an enum.
    since: '1.4.0',
    changed: ['EarnEnabledVault', 'EarnPosition', 'EarnVault'],
    methods: ['EarnService/ListEarnEnabledVaults', 'EarnService/ListEarnPositions', 'EarnService/ListEarnVaults'],
    types: ['EarnPositionDisplay', 'EarnProvider', 'EarnValueDisplay', 'PageInfo'],
  },
  { since: '1.5.1', freed: ['PageInfo'] },
  { since: '1.7.0', types: ['EarnVaultExposure'], freed: ['EarnProvider'] },
  {
    // `newUserTagName` was a text, and is a message.
    since: MADE_UP.version,
    changed: ['UpdateUserTagParameters'],
    methods: ['OrganizationService/UpdateUserTags'],
    fields: ['ActivityIntent.update_user_tags_intent'],
    types: ['UpdateUserTagsParameters', 'UserTagName'],
  },
];

/** The only release that changes nothing. */
const WITHOUT_CHANGES = '1.6.0';

/** A new method that no class covers, because upstream marks its operation as internal. */
const INTERNAL = 'SecretService/InitImportSecrets';

/** The day that npmReleases() gives the oldest release. */
const DAY_OF_OLDEST = '2026-01-01';

/** The calls that callers make without a pause. */
const LOAD = [
  { method: 'PolicyService/GetPolicy', request: { organization_id: ORGANIZATION, policy_id: identifier(6) } },
  {
    method: 'UserService/UpdateUserName',
    request: { organization_id: ORGANIZATION, parameters: { user_id: END_USER, user_name: 'n' } },
  },
];

const ACCOUNT = {
  curve: 'CURVE_SECP256K1',
  path_format: 'PATH_FORMAT_BIP32',
  path: "m/44'/60'/0'/0/0",
  address_format: 'ADDRESS_FORMAT_ETHEREUM',
};

const submit = (name, method, parameters) => ({
  name,
  method,
  path: `/public/v1/submit/${name}`,
  request: { organization_id: ORGANIZATION, parameters },
});

/** Requests for what the made-up release changes, in the form that they had before. */
const BEFORE_CHANGES = [
  submit('create_user_tag', 'TagService/CreateUserTag', { user_tag_name: 't', user_ids: [END_USER] }),
  submit('update_user_tag', 'TagService/UpdateUserTag', { user_tag_id: identifier(1), new_user_tag_name: 't' }),
  submit('update_organization_name', 'OrganizationService/UpdateOrganizationName', { organization_name: 'n' }),
  submit('create_wallet', 'WalletService/CreateWallet', { wallet_name: 'w', accounts: [ACCOUNT] }),
  submit('create_wallet_accounts', 'WalletService/CreateWalletAccounts', {
    wallet_id: identifier(11),
    accounts: [ACCOUNT],
  }),
  submit('delete_wallets', 'WalletService/DeleteWallets', { wallet_ids: [identifier(1)] }),
  submit('delete_policy', 'PolicyService/DeletePolicy', { policy_id: identifier(1) }),
];

/**
 * Requests of the operations of the specification, except one that is in LOAD, one that needs the caller's stamp, and
 * one for which the oldest API requires another member.
 */
const OF_SPECIFICATION = operations
  .filter(({ stampedByClient }) => !stampedByClient)
  .filter(({ name }) => !['get_policy', 'earn_withdraw'].includes(name))
  .flatMap(({ name, method, path, all, none }) =>
    [all, none].map((request, index) => ({ name: `${name} ${index}`, method, path, request })),
  );

/** The API of each release, oldest first, as an operator builds it. */
function releasesIn(folder) {
  const reviewed = new Reviewed(join(root, 'proto/reviewed'));
  const replay = new Replay(reviewed);
  for (const one of npmReleases()) replay.follow([one]);
  const newest = crateRelease();
  replay.follow([pythonRelease(), newest]);
  review(reviewed);
  replay.follow([madeUpRelease(newest)]);
  return replay.steps.map((step) => {
    const { version, undecided } = step;
    assert.deepEqual(undecided, [], version);
    const protos = join(folder, version);
    replay.writeProtos(step, protos);
    runBuf(['build', '--output', 'operations.binpb'], protos);
    return { version, descriptors: readFileSync(join(protos, 'operations.binpb')) };
  });
}

/** The names of the elements that may have no effect, by these entries of REFUSALS. */
function refusedIn(elements, oldest, refusals) {
  const all = (part) => refusals.flatMap((refusal) => refusal[part] ?? []);
  const messagesOf = (method) => ['Request', 'Response'].map((end) => method.split('/')[1] + end);
  const types = [...all('types'), ...all('methods').flatMap(messagesOf)].filter((name) => !all('freed').includes(name));
  const single = new Set([...all('methods'), ...all('fields'), ...types]);
  return [...elements.keys()].filter((name) => {
    const isIn = (owner) => name.startsWith(`${owner}.`);
    return single.has(name) || types.some(isIn) || (all('changed').some(isIn) && !oldest.has(name));
  });
}

describe('a gateway with the oldest API', { skip: noCrate, timeout: 5 * HANG_MS }, async () => {
  if (noCrate) return;
  const folder = scratch({ after });
  const releases = releasesIn(folder);
  const [first, ...later] = releases;
  const newest = later.at(-1);
  const command = earlierGateway(folder, first.descriptors);
  const oldest = elementsOf(protosIn(first.descriptors));
  const newMethodsOf = (elements) => [...elements.keys()].filter((name) => name.includes('/') && !oldest.has(name));
  const callers = freeCaller();
  const { gateway, simulator } = await startStack(
    { after },
    {
      command,
      simulator: { references: 'any' },
      config: { class_grants_as_of: DAY_OF_OLDEST, reload_interval: '100ms', callers },
    },
  );
  const file = join(folder, 'operations.binpb');

  /** Runs `stampgate check`, and resolves to its output. */
  const check = async (...args) => {
    const { status, stdout, stderr } = await run(['check', '--config', gateway.configFile, ...args], { command });
    assert.equal(status, 0, stderr);
    return { stdout, stderr };
  };

  /** The methods that the caller may call, and those that it would gain with the newest day. */
  const rights = async () => {
    const { stdout } = await check('--as', 'loopback');
    const [may, gains = ''] = stdout.split('would gain with class_grants_as_of');
    const namesIn = (text) => [...text.matchAll(/^ {2}(\w+\/\w+) \(/gm)].map(([, method]) => method).sort();
    return { may: namesIn(may), gains: namesIn(gains) };
  };

  /** The codes with which the gateway refuses empty requests of methods. */
  const refusalsOf = async (names) => {
    const bytes = (value) => value;
    const codeOf = async (name) => {
      const method = { path: `/stampgate.v1.${name}`, requestSerialize: bytes, responseDeserialize: bytes };
      return [name, (await gateway.refusal(method, Buffer.alloc(0))).code];
    };
    return Object.fromEntries(await Promise.all(names.map(codeOf)));
  };

  /** Calls a method. Resolves to the body that upstream receives, and to the error with which upstream refuses it. */
  const send = async (method, path, request) => {
    const refusal = await gateway.call(method, request).then(
      () => null,
      (error) => error,
    );
    if (refusal && refusal.info?.domain !== 'upstream') throw refusal;
    const { body } = simulator.requests().findLast((received) => received.path === path);
    return { body: JSON.parse(body), error: refusal?.details };
  };

  const oldestMethods = methodsIn(first.descriptors);

  /** What upstream receives from callers that were compiled with the oldest API, and what it refuses. */
  const sentByOldest = async () => {
    const all = new Map();
    for (const { name, method, path, request } of [...BEFORE_CHANGES, ...OF_SPECIFICATION]) {
      const { body, error } = await send(oldestMethods.get(method), path, { ...request, timestamp_ms: undefined });
      all.set(name, { error, body: { ...body, timestampMs: undefined } });
    }
    return all;
  };

  const rightsAtStart = await rights();
  const sentAtStart = await sentByOldest();
  const loads = await Promise.all(
    LOAD.map(({ method, request }) => startCalls(gateway, oldestMethods.get(method), request, 1)),
  );

  for (const [index, { version, descriptors }] of later.entries()) {
    if (descriptors.equals(releases[index].descriptors)) {
      test(`has nothing to follow in ${version}`, () => assert.equal(version, WITHOUT_CHANGES));
      continue;
    }
    const protos = protosIn(descriptors);
    const names = protos.map(({ name }) => name);
    const elements = elementsOf(protos);
    const added = newMethodsOf(elements);
    const versions = releases.map((one) => one.version);
    const refusals = REFUSALS.filter(({ since }) => versions.indexOf(since) <= versions.indexOf(version));
    const refusedMethods = refusals.flatMap((refusal) => refusal.methods ?? []);

    test(`follows ${version}`, async (t) => {
      const before = simulator.stats().requests;
      await until(() => simulator.stats().requests > before + 50, 'calls go on between two releases');
      if (gateway.config.operations) {
        await reloaded(gateway, () => putConfig(file, descriptors));
      } else {
        putConfig(file, descriptors);
        await reconfigure(gateway, { operations: [file] });
      }

      const served = elementsOf(await protosServed(gateway.client, names));
      const refused = [...elements.keys()].filter((name) => served.get(name) !== elements.get(name));
      assert.deepEqual(refused, refusedIn(elements, oldest, refusals));
      const { stderr } = await check();
      for (const method of refusedMethods) {
        assert.ok(stderr.includes(`stampgate.v1.${method.replace('/', '.')} is left out, because it needs`), stderr);
      }

      const codeOf = (name) => (refusedMethods.includes(name) ? code.UNIMPLEMENTED : code.PERMISSION_DENIED);
      assert.deepEqual(await refusalsOf(added), Object.fromEntries(added.map((name) => [name, codeOf(name)])));
      assert.deepEqual((await rights()).may, rightsAtStart.may);
      assert.deepEqual(await sentByOldest(), sentAtStart);
      t.diagnostic(`${added.length - refusedMethods.length} new methods, ${refused.length} elements without effect`);
    });
  }

  const newestMethods = methodsIn(newest.descriptors);

  /** The parameters that upstream receives from a caller that was compiled with the newest API. */
  const parametersOf = async (name, parameters) => {
    const { method, path, request } = BEFORE_CHANGES.find((one) => one.name === name);
    const { body } = await send(newestMethods.get(method), path, { ...request, parameters });
    return body.parameters;
  };

  test('sends the new members to upstream, and needs none that is gone', async () => {
    assert.deepEqual(await parametersOf('create_user_tag', { tag_name: 't', user_ids: [END_USER] }), {
      userIds: [END_USER],
      tagName: 't',
    });
    const wallet = await parametersOf('create_wallet', { wallet_name: 'w', accounts: [ACCOUNT], purpose: 'p' });
    assert.equal(wallet.purpose, 'p');
    const halves = {
      paths: [{ curve: 'CURVE_BLS12381', path: 'm' }],
      names: [{ address_format: 'ADDRESS_FORMAT_ETHEREUM', name: 'a' }],
    };
    assert.deepEqual(await parametersOf('create_wallet_accounts', { wallet_id: identifier(11), ...halves }), {
      walletId: identifier(11),
      accounts: [], // a required list stays in the request
      paths: halves.paths,
      names: [{ addressFormat: 'ADDRESS_FORMAT_ETHEREUM', name: 'a' }],
    });
  });

  test('knows that a reviewed member is another name of an older one', async () => {
    const both = [{ organization_name: 'n' }, { new_name: 'n' }];
    const sent = () => Promise.all(both.map((one) => parametersOf('update_organization_name', one)));
    assert.deepEqual(await sent(), [{ organizationName: 'n' }, { organizationName: 'n' }]);
    await reconfigure(gateway, { member_names_as_of: MADE_UP.day });
    assert.deepEqual(await sent(), [{ newName: 'n' }, { newName: 'n' }]);
  });

  test('refuses only the member that has another shape', async () => {
    const tag = { user_tag_id: identifier(1) };
    await assert.rejects(parametersOf('update_user_tag', { ...tag, new_user_tag_name_v2: { text: 't' } }), {
      code: code.INVALID_ARGUMENT,
      details: /parameters holds field number \d+, which this gateway does not know/,
    });
    assert.equal((await parametersOf('update_user_tag', tag)).userTagId, identifier(1));
  });

  test('sends new operations for a caller whose grant names them', async () => {
    const named = [
      'OrganizationService/ArchiveWallet',
      'OrganizationService/GetArchive',
      'WalletService/DeleteWalletsV2',
    ];
    await reconfigure(gateway, { callers: [{ ...callers[0], grants: [...callers[0].grants, grantOf(named)] }] });
    const [archive, get, deleteWallets] = named.map((name) => newestMethods.get(name));
    const answer = (path, body) => simulator.addFaults([{ kind: 'status', status: 200, body, match: { path } }]);

    answer('archive_wallet', '{"activity":{"result":{"archiveWalletResult":{"archiveId":"a"}}}}');
    const parameters = { wallet_id: identifier(11), until: 'u' };
    const { activity } = await gateway.call(archive, { organization_id: ORGANIZATION, parameters });
    assert.deepEqual(activity.result, { archive_wallet_result: { archive_id: 'a' } });

    answer('get_archive', '{"walletId":"w","curve":"CURVE_BLS12381"}');
    const response = await gateway.call(get, { organization_id: ORGANIZATION, archive_id: 'a' });
    assert.deepEqual(response, { wallet_id: 'w', curve: 'CURVE_BLS12381' });

    const wallets = { organization_id: ORGANIZATION, parameters: { wallet_ids: [identifier(1)], reason: 'r' } };
    const { body } = await send(deleteWallets, '/public/v1/submit/delete_wallets', wallets);
    assert.equal(body.type, 'ACTIVITY_TYPE_DELETE_WALLETS_V2');
    await reconfigure(gateway, { callers });
  });

  // Shows that the tests above would see a new right.
  test('gives the caller exactly the announced rights when the operator accepts the newest day', async () => {
    const { gains } = await rights();
    const all = newMethodsOf(elementsOf(protosIn(newest.descriptors)));
    const refusedMethods = REFUSALS.flatMap((refusal) => refusal.methods ?? []);
    assert.deepEqual(gains, all.filter((name) => ![...refusedMethods, INTERNAL].includes(name)).sort());
    await reconfigure(gateway, { class_grants_as_of: MADE_UP.day });
    assert.deepEqual((await rights()).may, [...rightsAtStart.may, ...gains].sort());
    const codes = new Set(Object.values(await refusalsOf(gains)));
    assert.deepEqual([...codes], [code.INVALID_ARGUMENT]);
  });

  test('fails no call of the callers that called all the time', async (t) => {
    gateway.child.kill('SIGTERM');
    for (const { ended } of loads) {
      const endings = await ended;
      t.diagnostic(JSON.stringify(endings));
      assert.deepEqual(failuresIn(endings), []);
      assert.ok(successesIn(endings) > 500, JSON.stringify(endings));
    }
    assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
  });
});

test('a call that fails once is counted', { timeout: HANG_MS }, async (t) => {
  const { gateway, simulator } = await startStack(t);
  const [{ method, request }] = LOAD;
  const { ended } = await startCalls(gateway, methods.get(method), request);
  simulator.addFaults([{ kind: 'nonJson', match: { path: 'get_policy' } }]);
  const { requests } = simulator.stats();
  await until(() => simulator.stats().requests > requests + 50, 'the calls go on');
  gateway.child.kill('SIGTERM');
  const failures = failuresIn(await ended);
  assert.deepEqual(
    failures.map(({ name, count }) => [name, count]),
    [['INTERNAL', 1]],
  );
});
