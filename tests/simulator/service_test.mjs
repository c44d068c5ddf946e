// Tests the state and the responses of the simulated service.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFixture, startSimulator } from './server.mjs';
import * as testing from './testing.mjs';

const { END_USER, ORGANIZATION, apiKeyNamed, exchange, identifier, post, query, submit, subOrganization } = testing;

const withSimulator = (use, options = {}) => testing.withSimulator(startSimulator, options, use);

/** The claims of a token. */
const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));

function isRefused({ status, json }, expectedStatus, errorCode) {
  assert.equal(status, expectedStatus, JSON.stringify(json));
  if (errorCode !== undefined) assert.equal(json.details.at(-1).serviceErrorCode, errorCode);
}

describe('activities', () => {
  const body = (timestampMs) => ({
    type: 'ACTIVITY_TYPE_CREATE_POLICIES',
    timestampMs,
    organizationId: ORGANIZATION,
    parameters: { policies: [{ policyName: 'p', effect: 'EFFECT_ALLOW', notes: '' }] },
  });
  const path = '/public/v1/submit/create_policies';

  test(
    'a repeated body returns the same activity, and a new timestampMs a new activity',
    withSimulator(async (simulator) => {
      const timestampMs = testing.freshTimestamp();
      const first = await post(simulator, path, body(timestampMs));
      const again = await post(simulator, path, body(timestampMs));
      const other = await post(simulator, path, body(testing.freshTimestamp()));
      assert.deepEqual(again.json, first.json);
      assert.notEqual(other.json.activity.id, first.json.activity.id);
      assert.notEqual(other.json.activity.fingerprint, first.json.activity.fingerprint);
    }),
  );

  test(
    'a repeated body with another key returns the same activity',
    withSimulator(async (simulator) => {
      const text = JSON.stringify(body(testing.freshTimestamp()));
      const first = await post(simulator, path, text);
      const again = await post(simulator, path, text, { apiKey: apiKeyNamed('vectors ed25519') });
      assert.equal(again.json.activity.id, first.json.activity.id);
    }),
  );

  test(
    'a body with other white space creates another activity',
    withSimulator(async (simulator) => {
      const text = JSON.stringify(body(testing.freshTimestamp()));
      const [first, other] = [await post(simulator, path, text), await post(simulator, path, `${text}\n`)];
      assert.notEqual(other.json.activity.id, first.json.activity.id);
    }),
  );

  test(
    'get_activity finds an activity',
    withSimulator(async (simulator) => {
      const { activity } = (await post(simulator, path, body(testing.freshTimestamp()))).json;
      assert.deepEqual((await query(simulator, 'get_activity', { activityId: activity.id })).json, { activity });
    }),
  );

  test(
    'the times of an activity are objects, or strings with the setting for it',
    withSimulator(async (simulator) => {
      const text = JSON.stringify(body(testing.freshTimestamp()));
      const objects = (await post(simulator, path, text)).json.activity;
      simulator.change({ timestamps: 'string' });
      const texts = (await post(simulator, path, text)).json.activity;
      assert.equal(texts.id, objects.id);
      assert.equal(Math.floor(Date.parse(texts.createdAt) / 1000), Number(objects.createdAt.seconds));
      assert.equal(typeof texts.updatedAt, 'string');
    }),
  );

  test(
    'a parameter that is null counts as absent',
    withSimulator(async (simulator) => {
      const { activity } = (
        await submit(simulator, 'create_session_profile', 'CREATE_SESSION_PROFILE', {
          sessionProfileName: 's',
          scope: 'x',
          notes: null,
        })
      ).json;
      assert.deepEqual(activity.intent.createSessionProfileIntent, { sessionProfileName: 's', scope: 'x' });
    }),
  );

  test(
    'the intent has numbers exactly as the client sent them',
    withSimulator(async (simulator) => {
      const parameters = { userId: END_USER, mfaPolicyId: identifier(10), order: 4_294_967_295 };
      const { text } = await submit(simulator, 'update_mfa_policy', 'UPDATE_MFA_POLICY', parameters);
      assert.ok(text.includes('"order":4294967295}'));
    }),
  );
});

describe('policies', () => {
  test(
    'are found after they were created',
    withSimulator(async (simulator) => {
      const policies = [
        { policyName: 'first', effect: 'EFFECT_DENY', condition: 'c', consensus: 'd', notes: 'n', time: 't' },
        { policyName: 'second', effect: 'EFFECT_ALLOW', notes: '' },
      ];
      const { activity } = (await submit(simulator, 'create_policies', 'CREATE_POLICIES', { policies })).json;
      const [first, second] = activity.result.createPoliciesResult.policyIds;
      const found = (await query(simulator, 'get_policy', { policyId: first })).json.policy;
      const times = ['createdAt', 'updatedAt'];
      assert.deepEqual(Object.keys(found), [
        ...['policyId', 'policyName', 'effect', ...times, 'notes', 'consensus', 'condition', 'time'],
      ]);
      const { policyId, createdAt, updatedAt, ...given } = found;
      assert.deepEqual(given, policies[0]);
      assert.equal(policyId, first);
      assert.deepEqual(createdAt, updatedAt);
      const plain = (await query(simulator, 'get_policy', { policyId: second })).json.policy;
      assert.equal(plain.condition, '');
      assert.ok(!('time' in plain));
    }),
  );

  test(
    'of another organization are not found',
    withSimulator(async (simulator) => {
      const body = { policyId: identifier(6) };
      assert.equal((await query(simulator, 'get_policy', body)).status, 200);
      isRefused(await query(simulator, 'get_policy', { ...body, organizationId: subOrganization(1) }), 404);
    }),
  );
});

describe('wallet accounts', () => {
  const main = identifier(11);
  const list = async (simulator, body) => (await query(simulator, 'list_wallet_accounts', body)).json.accounts;
  const idsOf = (accounts) => accounts.map(({ walletAccountId }) => walletAccountId);
  const all = readFixture().wallets[0].accounts.map(({ walletAccountId }) => walletAccountId);

  test(
    'are returned in pages of ten',
    withSimulator(async (simulator) => {
      assert.deepEqual(idsOf(await list(simulator, { walletId: main })), all.slice(0, 10));
    }),
  );

  test(
    'of all wallets are listed without walletId',
    withSimulator(async (simulator) => {
      const accounts = await list(simulator, { paginationOptions: { limit: '100' } });
      assert.equal(accounts.length, all.length + 3);
      assert.deepEqual([...new Set(accounts.map(({ walletId }) => walletId))], [main, identifier(21)]);
    }),
  );

  for (const limit of ['1', '4', '10', '23', '100']) {
    test(
      `are each returned once, forwards and backwards, with pages of ${limit}`,
      withSimulator(async (simulator) => {
        const [forwards, backwards] = [[], []];
        for (let page, after; page === undefined || page.length > 0; after = forwards.at(-1)) {
          page = idsOf(await list(simulator, { walletId: main, paginationOptions: { limit, after } }));
          forwards.push(...page);
        }
        assert.deepEqual(forwards, all);
        backwards.push(all.at(-1));
        for (let page; page === undefined || page.length > 0;) {
          page = idsOf(await list(simulator, { walletId: main, paginationOptions: { limit, before: backwards[0] } }));
          backwards.unshift(...page);
        }
        assert.deepEqual(backwards, all);
      }),
    );
  }

  test(
    'between two cursors are returned',
    withSimulator(async (simulator) => {
      const paginationOptions = { limit: '100', after: all[2], before: all[5] };
      assert.deepEqual(idsOf(await list(simulator, { walletId: main, paginationOptions })), all.slice(3, 5));
    }),
  );

  for (const limit of ['0', '101', '-1', '1.5', '', ' 1', '01', '١٠', '1e1']) {
    test(
      `are not listed with the limit "${limit}"`,
      withSimulator(async (simulator) => {
        isRefused(await query(simulator, 'list_wallet_accounts', { paginationOptions: { limit } }), 400);
      }),
    );
  }

  test(
    'are not listed from an unknown cursor',
    withSimulator(async (simulator) => {
      const paginationOptions = { after: identifier(999) };
      isRefused(await query(simulator, 'list_wallet_accounts', { paginationOptions }), 400);
    }),
  );

  test(
    'contain their wallet only on request',
    withSimulator(async (simulator) => {
      const [plain] = await list(simulator, { walletId: main });
      assert.ok(!('walletDetails' in plain));
      const [detailed] = await list(simulator, { walletId: main, includeWalletDetails: true });
      const { walletDetails, ...rest } = detailed;
      assert.deepEqual(rest, plain);
      assert.deepEqual(Object.keys(walletDetails), [
        ...['walletId', 'walletName', 'createdAt', 'updatedAt', 'exported', 'imported'],
      ]);
      assert.equal(walletDetails.exported, false);
    }),
  );

  test(
    'are found by address or by path; without both, the first of the wallet is found',
    withSimulator(async (simulator) => {
      const get = (body) => query(simulator, 'get_wallet_account', { walletId: main, ...body });
      const { account } = (await get({})).json;
      assert.equal(account.name, 'first');
      assert.equal((await get({ path: "m/44'/60'/0'/0/1" })).json.account.walletAccountId, all[1]);
      assert.equal((await get({ address: account.address })).json.account.walletAccountId, all[0]);
      isRefused(await get({ address: account.address, path: "m/44'/60'/0'/0/1" }), 404);
      isRefused(await query(simulator, 'get_wallet_account', { walletId: identifier(22) }), 404);
    }),
  );

  test(
    'mark their wallet when they are exported',
    withSimulator(async (simulator) => {
      const [{ address }] = await list(simulator, { walletId: main });
      await submit(simulator, 'export_wallet_account', 'EXPORT_WALLET_ACCOUNT', { address, targetPublicKey: '04' });
      const [account] = await list(simulator, { walletId: main, includeWalletDetails: true });
      assert.equal(account.walletDetails.exported, true);
    }),
  );
});

describe('a sub-organization', () => {
  const remove = (simulator, number, parameters = {}) =>
    submit(simulator, 'delete_sub_organization', 'DELETE_SUB_ORGANIZATION', parameters, {
      organizationId: subOrganization(number),
    });
  const whoami = (simulator, number) => query(simulator, 'whoami', { organizationId: subOrganization(number) });

  for (const [name, number, parameters, isDeleted] of [
    ['whose wallet was not exported is not deleted', 1, {}, false],
    [
      'whose wallet was not exported is not deleted with deleteWithoutExport false',
      1,
      { deleteWithoutExport: false },
      false,
    ],
    ['whose wallet was not exported is deleted with deleteWithoutExport true', 1, { deleteWithoutExport: true }, true],
    ['whose wallet was exported is deleted', 2, {}, true],
    ['without wallets is deleted', 3, {}, true],
    ['whose private key was not exported is not deleted', 4, {}, false],
  ]) {
    test(
      name,
      withSimulator(async (simulator) => {
        const answer = await remove(simulator, number, parameters);
        if (!isDeleted) {
          isRefused(answer, 400, 'WALLET_ACCOUNT_NOT_EXPORTED');
          assert.equal((await whoami(simulator, number)).status, 200);
          return;
        }
        const expected = { deleteSubOrganizationResult: { subOrganizationUuid: subOrganization(number) } };
        assert.deepEqual(answer.json.activity.result, expected);
        isRefused(await whoami(simulator, number), 404, 'ORGANIZATION_NOT_FOUND');
      }),
    );
  }

  test(
    'can be deleted after its export',
    withSimulator(async (simulator) => {
      const [{ address }] = readFixture().wallets.find(
        (wallet) => wallet.organizationId === subOrganization(1),
      ).accounts;
      const organizationId = subOrganization(1);
      const parameters = { address, targetPublicKey: '04' };
      await submit(simulator, 'export_wallet_account', 'EXPORT_WALLET_ACCOUNT', parameters, { organizationId });
      assert.equal((await remove(simulator, 1)).status, 200);
    }),
  );

  test(
    'is deleted once: a repeated deletion returns the same activity',
    withSimulator(async (simulator) => {
      const first = await remove(simulator, 3);
      const { body } = simulator.requests()[0];
      assert.deepEqual((await post(simulator, '/public/v1/submit/delete_sub_organization', body)).json, first.json);
      isRefused(await remove(simulator, 3), 404, 'ORGANIZATION_NOT_FOUND');
    }),
  );

  test(
    'is not the organization itself',
    withSimulator(async (simulator) => {
      isRefused(await submit(simulator, 'delete_sub_organization', 'DELETE_SUB_ORGANIZATION', {}), 400);
    }),
  );
});

describe('after a deletion', () => {
  test(
    'webhook endpoints are not found',
    withSimulator(async (simulator) => {
      const remove = () =>
        submit(simulator, 'delete_webhook_endpoint', 'DELETE_WEBHOOK_ENDPOINT', { endpointId: identifier(4) });
      assert.equal((await remove()).status, 200);
      isRefused(await remove(), 404);
    }),
  );

  test(
    'OAuth providers are not found, also those that a test has created',
    withSimulator(async (simulator) => {
      const created = await submit(simulator, 'create_oauth_providers', 'CREATE_OAUTH_PROVIDERS_V2', {
        userId: END_USER,
        oauthProviders: [{ providerName: 'n', oidcToken: 'x' }],
      });
      const { providerIds } = created.json.activity.result.createOauthProvidersResultV2;
      const remove = () =>
        submit(simulator, 'delete_oauth_providers', 'DELETE_OAUTH_PROVIDERS', { userId: END_USER, providerIds });
      assert.deepEqual((await remove()).json.activity.result.deleteOauthProvidersResult, { providerIds });
      isRefused(await remove(), 404);
    }),
  );

  test(
    'API keys are not found, and their stamps are refused',
    withSimulator(async (simulator) => {
      const apiKey = apiKeyNamed('end user 1');
      assert.equal((await query(simulator, 'whoami', {}, { apiKey })).json.userId, END_USER);
      const parameters = { userId: END_USER, apiKeyIds: [apiKey.apiKeyId] };
      assert.equal((await submit(simulator, 'delete_api_keys', 'DELETE_API_KEYS', parameters)).status, 200);
      isRefused(await query(simulator, 'whoami', {}, { apiKey }), 401, 'PUBLIC_KEY_NOT_FOUND');
      isRefused(await submit(simulator, 'delete_api_keys', 'DELETE_API_KEYS', parameters), 404);
    }),
  );
});

describe('defaults', () => {
  const now = () => 1_800_000_000_000;
  const expiryAfter = (token) => claimsOf(token).exp - 1_800_000_000;
  const clocked = (use) => withSimulator(use, { now });
  const send = (simulator, name, type, parameters) =>
    post(simulator, `/public/v1/submit/${name}`, {
      type: `ACTIVITY_TYPE_${type}`,
      timestampMs: String(now()),
      organizationId: ORGANIZATION,
      parameters,
    });

  for (const [name, parameters, seconds] of [
    ['a session lasts 900 seconds', {}, 900],
    ['a session lasts as long as the login requests', { expirationSeconds: '60' }, 60],
    ['a session lasts as long as its profile specifies', { sessionProfileId: identifier(3) }, 600],
    ['a shorter profile limits a session', { sessionProfileId: identifier(3), expirationSeconds: '601' }, 600],
    ['a shorter login limits a session', { sessionProfileId: identifier(3), expirationSeconds: '599' }, 599],
  ]) {
    test(
      name,
      clocked(async (simulator) => {
        const { publicKey } = apiKeyNamed('end user 1');
        const { json } = await send(simulator, 'stamp_login', 'STAMP_LOGIN', { publicKey, ...parameters });
        assert.equal(expiryAfter(json.activity.result.stampLoginResult.session), seconds);
      }),
    );
  }

  for (const [expirationSeconds, seconds] of [
    [undefined, 3600],
    ['86400', 86_400],
  ]) {
    test(
      `a verification token for ${expirationSeconds} seconds lasts ${seconds}`,
      clocked(async (simulator) => {
        const parameters = { otpId: identifier(8), encryptedOtpBundle: 'b', expirationSeconds };
        const { json } = await send(simulator, 'verify_otp', 'VERIFY_OTP_V2', parameters);
        assert.equal(expiryAfter(json.activity.result.verifyOtpResult.verificationToken), seconds);
      }),
    );
  }

  test(
    'a verification token lasts a day at most',
    clocked(async (simulator) => {
      const parameters = { otpId: identifier(8), encryptedOtpBundle: 'b', expirationSeconds: '86401' };
      isRefused(await send(simulator, 'verify_otp', 'VERIFY_OTP_V2', parameters), 400);
    }),
  );

  test(
    'an OAuth key has a name and lasts 900 seconds',
    clocked(async (simulator) => {
      await send(simulator, 'oauth', 'OAUTH', { oidcToken: 't', targetPublicKey: '04' });
      const { json } = await send(simulator, 'create_policies', 'CREATE_POLICIES', { policies: [] });
      const made = json.activity.votes[0].user.apiKeys.at(-1);
      assert.equal(made.apiKeyName, 'Oauth-1800000000');
      assert.equal(made.expirationSeconds, '900');
    }),
  );
});

describe('a session', () => {
  // A key that is not registered for any user.
  const sessionKey = { ...apiKeyNamed('stranger') };
  const fixture = () => {
    const all = readFixture();
    all.users = all.users.filter(({ userName }) => userName !== 'stranger');
    return all;
  };
  const login = (simulator, parameters, apiKey) =>
    submit(simulator, 'stamp_login', 'STAMP_LOGIN', { publicKey: sessionKey.publicKey, ...parameters }, { apiKey });

  test(
    'allows its key to stamp for the user until the session expires',
    withSimulator(
      async (simulator) => {
        isRefused(await query(simulator, 'whoami', {}, { apiKey: sessionKey }), 401, 'PUBLIC_KEY_NOT_FOUND');
        await login(simulator, { expirationSeconds: '60' }, apiKeyNamed('end user 1'));
        assert.equal((await query(simulator, 'whoami', {}, { apiKey: sessionKey })).json.userId, END_USER);
        simulator.change({ clockOffsetMs: 61_000 });
        isRefused(await query(simulator, 'whoami', {}, { apiKey: sessionKey }), 401, 'API_KEY_EXPIRED');
      },
      { fixture: fixture() },
    ),
  );

  test(
    'ends when a later login requests that earlier sessions end',
    withSimulator(
      async (simulator) => {
        await login(simulator, {}, apiKeyNamed('end user 1'));
        await login(simulator, { publicKey: '', invalidateExisting: true }, apiKeyNamed('end user 1'));
        isRefused(await query(simulator, 'whoami', {}, { apiKey: sessionKey }), 401, 'PUBLIC_KEY_NOT_FOUND');
      },
      { fixture: fixture() },
    ),
  );
});

describe('organizations', () => {
  test(
    'have their latest name',
    withSimulator(async (simulator) => {
      await submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', { organizationName: 'Ünï' });
      assert.equal((await query(simulator, 'whoami')).json.organizationName, 'Ünï');
    }),
  );

  test(
    'do not accept the keys of others',
    withSimulator(async (simulator) => {
      isRefused(await query(simulator, 'whoami', {}, { apiKey: apiKeyNamed('stranger') }), 401, 'PUBLIC_KEY_NOT_FOUND');
    }),
  );

  test(
    'that are unknown are not found',
    withSimulator(async (simulator) => {
      isRefused(await query(simulator, 'whoami', { organizationId: 'x' }), 404, 'ORGANIZATION_NOT_FOUND');
    }),
  );
});

test(
  'an update of an MFA policy changes only the given members',
  withSimulator(async (simulator) => {
    const before = (await query(simulator, 'get_mfa_policies', { userId: END_USER })).json.mfaPolicies;
    const changes = { order: 7, notes: '', requiredAuthenticationMethods: [] };
    const parameters = { userId: END_USER, mfaPolicyId: identifier(10), ...changes };
    await submit(simulator, 'update_mfa_policy', 'UPDATE_MFA_POLICY', parameters);
    const after = (await query(simulator, 'get_mfa_policies', { userId: END_USER })).json.mfaPolicies;
    const { updatedAt } = after[0];
    assert.deepEqual(after, [{ ...before[0], ...changes, updatedAt }, before[1]]);
  }),
);

test(
  'a contract interface with more than 400,000 characters is refused',
  withSimulator(async (simulator) => {
    const create = (text) =>
      submit(simulator, 'create_smart_contract_interface', 'CREATE_SMART_CONTRACT_INTERFACE', {
        smartContractAddress: 'a',
        smartContractInterface: text,
        type: 'SMART_CONTRACT_INTERFACE_TYPE_SOLANA',
        label: 'l',
      });
    assert.equal((await create('x'.repeat(400_000))).status, 200);
    isRefused(await create('x'.repeat(400_001)), 400);
    assert.equal((await create('é'.repeat(400_000))).status, 200);
    isRefused(await create('é'.repeat(400_001)), 400);
  }),
);

test(
  'only one of oidcToken and oidcClaims is accepted',
  withSimulator(async (simulator) => {
    const both = { providerName: 'n', oidcToken: 't', oidcClaims: { iss: 'i', sub: 's', aud: 'a' } };
    const parameters = { userId: END_USER, oauthProviders: [both] };
    isRefused(await submit(simulator, 'create_oauth_providers', 'CREATE_OAUTH_PROVIDERS_V2', parameters), 400);
  }),
);

for (const [name, body] of Object.entries({
  nothing: '',
  'half a body': '{"organizationId":"x"',
  'two bodies': '{}{}',
  'a comma too many': '{"organizationId":"x",}',
  'a bare name': '{organizationId:"x"}',
  'a byte order mark': '\ufeff{}',
  'bytes that are not UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
  'half a surrogate pair': '{"organizationId":"\\ud800"}',
  'a bare control character': '{"organizationId":"\n"}',
  'a number with a leading zero': '{"a":01}',
  'a list': '[]',
  'too many levels': '['.repeat(1000),
})) {
  test(
    `${name} instead of a body is refused`,
    withSimulator(async (simulator) => {
      isRefused(await post(simulator, '/public/v1/query/whoami', body), 400);
    }),
  );
}

test(
  'a wrong path or method is refused',
  withSimulator(async (simulator) => {
    const whoami = `${simulator.url}/public/v1/query/whoami`;
    assert.equal((await exchange(`${simulator.url}/public/v1/other`)).status, 404);
    assert.equal((await exchange(`${whoami}?x=1`)).status, 404);
    assert.equal((await exchange(whoami, { method: 'GET' })).status, 405);
    isRefused(await query(simulator, 'no_such_query'), 404);
  }),
);

for (const operator of [undefined, 'acme']) {
  test(
    `the key set contains upstream's name ${operator}`,
    withSimulator(
      async (simulator) => {
        const name = operator ?? 'service';
        const url = `${simulator.url}/public/v1/discovery/webhooks/jwks`;
        const { json, headers } = await exchange(url, { method: 'GET' });
        assert.equal(headers['cache-control'], 'public, max-age=86400, s-maxage=86400, stale-if-error=604800');
        assert.deepEqual(json, {
          keys: [
            {
              kid: 'webhook-key-1',
              kty: 'OKP',
              crv: 'Ed25519',
              alg: 'EdDSA',
              use: 'sig',
              x: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg',
              [`${name}_signature_algorithm`]: 'ed25519',
              [`${name}_signature_version`]: 'v1',
            },
          ],
        });
      },
      { operator },
    ),
  );
}

test(
  'with the setting for it, submits may contain unknown identifiers',
  withSimulator(
    async (simulator) => {
      const parameters = { endpointId: 'nobody knows it' };
      const answer = await submit(simulator, 'delete_webhook_endpoint', 'DELETE_WEBHOOK_ENDPOINT', parameters);
      assert.deepEqual(answer.json.activity.result.deleteWebhookEndpointResult, parameters);
    },
    { references: 'any' },
  ),
);
