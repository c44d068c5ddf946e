// Tests every fault of README.md over real connections, and the control interface.
import assert from 'node:assert/strict';
import http from 'node:http';
import { describe, test } from 'node:test';
import { codes } from './errors.mjs';
import { startSimulator } from './server.mjs';
import * as testing from './testing.mjs';

const { ORGANIZATION, exchange, identifier, post, query, stampOf, submit } = testing;

const withSimulator = (use, options = {}) => testing.withSimulator(startSimulator, options, use);

const PARAMETERS = {
  userId: testing.END_USER,
  mfaPolicyId: identifier(10),
  mfaPolicyName: 'name-leak',
  condition: 'condition-leak',
  requiredAuthenticationMethods: [{ any: [{ type: 'AUTHENTICATION_TYPE_PASSKEY', id: 'id-leak' }] }],
  order: 4_242,
  notes: 'notes-leak',
};
const LEAKS = [testing.END_USER, identifier(10), 'name-leak', 'condition-leak', 'id-leak', '4242', 'notes-leak'];

const update = (simulator, options) => submit(simulator, 'update_mfa_policy', 'UPDATE_MFA_POLICY', PARAMETERS, options);

const policyOf = async (simulator) =>
  (await query(simulator, 'get_mfa_policies', { userId: testing.END_USER })).json.mfaPolicies[0];

const wasApplied = async (simulator) => (await policyOf(simulator)).notes === 'notes-leak';

function leaksAll(text) {
  for (const leak of LEAKS) assert.ok(text.includes(leak), `${leak} is not in ${text}`);
}

/** Returns a test function that calls `use` with an agent that keeps one connection alive. */
function withAgent(use) {
  return async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    try {
      await use(agent);
    } finally {
      agent.destroy();
    }
  };
}

describe('status', () => {
  test(
    'sends exactly this response, and does not carry out the request',
    withSimulator(async (simulator) => {
      simulator.addFaults([
        { kind: 'status', status: 429, body: 'slow down', headers: { 'ratelimit-remaining': '0' } },
      ]);
      const { status, text, headers } = await update(simulator);
      assert.deepEqual([status, text, headers['ratelimit-remaining']], [429, 'slow down', '0']);
      assert.equal(await wasApplied(simulator), false);
    }),
  );

  test(
    'sends exactly these bytes, and with apply carries out the request',
    withSimulator(async (simulator) => {
      const bodyBase64 = Buffer.from([0xff, 0x00]).toString('base64');
      simulator.addFaults([{ kind: 'status', status: 502, bodyBase64, apply: true }]);
      const { status, body } = await update(simulator);
      assert.deepEqual([status, [...body]], [502, [0xff, 0x00]]);
      assert.equal(await wasApplied(simulator), true);
    }),
  );

  test(
    'works for an unknown operation',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'status', status: 200, body: '{"x":1e400}', match: { path: 'unheard_of' } }]);
      assert.equal((await query(simulator, 'unheard_of')).text, '{"x":1e400}');
      assert.equal((await query(simulator, 'unheard_of')).status, 404);
    }),
  );
});

describe('error', () => {
  for (const [code, { number, http: status }] of Object.entries(codes)) {
    test(
      `${code} is ${number} with ${status}, and repeats every parameter`,
      withSimulator(async (simulator) => {
        simulator.addFaults([{ kind: 'error', code }]);
        const answer = await update(simulator);
        assert.equal(answer.status, status);
        assert.deepEqual(Object.keys(answer.json), ['code', 'message', 'details']);
        assert.equal(answer.json.code, number);
        leaksAll(answer.json.message);
        leaksAll(JSON.stringify(answer.json.details));
        assert.equal(await wasApplied(simulator), false);
      }),
    );
  }

  const errorOf = async (simulator, fault) => {
    simulator.addFaults([{ kind: 'error', code: 'INVALID_ARGUMENT', ...fault }]);
    return (await update(simulator)).json;
  };

  for (const [errorCodeIn, inDetail, atTop] of [
    ['detail', true, false],
    ['topLevel', false, true],
    ['both', true, true],
  ]) {
    test(
      `has the service's code in this place: ${errorCodeIn}`,
      withSimulator(
        async (simulator) => {
          const json = await errorOf(simulator, { errorCode: 'SIGNATURE_INVALID', errorCodeIn });
          const type = 'type.googleapis.com/errors.v1.AcmeErrorDetail';
          const detail = json.details.find((each) => each['@type'] === type);
          assert.equal(detail?.acmeErrorCode, inDetail ? 'SIGNATURE_INVALID' : undefined);
          assert.equal(json.acmeErrorCode, atTop ? 'SIGNATURE_INVALID' : undefined);
          leaksAll(JSON.stringify(json.details));
        },
        { operator: 'acme' },
      ),
    );
  }

  test(
    'can have an empty code at the top level',
    withSimulator(async (simulator) => {
      assert.equal((await errorOf(simulator, { errorCode: '', errorCodeIn: 'topLevel' })).serviceErrorCode, '');
    }),
  );

  test(
    'can have a thousand field violations',
    withSimulator(async (simulator) => {
      const { details } = await errorOf(simulator, { fieldViolations: 1000 });
      assert.equal(details[0]['@type'], 'type.googleapis.com/google.rpc.BadRequest');
      assert.equal(details[0].fieldViolations.length, 1000);
      details[0].fieldViolations.forEach(({ description }) => leaksAll(description));
    }),
  );

  test(
    'can contain a denial by policy',
    withSimulator(async (simulator) => {
      const json = await errorOf(simulator, { code: 'PERMISSION_DENIED', policyDenied: true });
      const [detail] = json.details;
      assert.equal(json.code, 7);
      assert.equal(detail['@type'], 'type.googleapis.com/errors.v1.PolicyEnginePermissionError');
      leaksAll(detail.message);
      leaksAll(JSON.stringify(detail.policyEvaluations));
    }),
  );

  for (const [details, expected] of [
    ['empty', '[]'],
    ['null', 'null'],
    ['absent', undefined],
  ]) {
    test(
      `has ${details} details`,
      withSimulator(async (simulator) => {
        assert.equal(JSON.stringify((await errorOf(simulator, { details })).details), expected);
      }),
    );
  }

  test(
    'with echo false does not contain the parameters',
    withSimulator(async (simulator) => {
      const json = await errorOf(simulator, { echo: false, message: 'm', http: 418 });
      assert.deepEqual(json, { code: 3, message: 'm', details: [] });
    }),
  );

  test(
    'repeats the members of a query',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'error', code: 'NOT_FOUND' }]);
      const { message } = (await query(simulator, 'get_policy', { policyId: 'policy-leak' })).json;
      assert.ok(message.includes('policy-leak') && message.includes(ORGANIZATION));
    }),
  );
});

describe('activityStatus', () => {
  const names = [
    ...['CREATED', 'PENDING', 'FAILED', 'CONSENSUS_NEEDED', 'REJECTED', 'AUTHENTICATORS_NEEDED'],
    'NEVER_HEARD_OF',
  ];
  for (const name of names) {
    test(
      `${name} has no result and no effect`,
      withSimulator(async (simulator) => {
        simulator.addFaults([{ kind: 'activityStatus', status: `ACTIVITY_STATUS_${name}` }]);
        const { status, json } = await update(simulator);
        assert.equal(status, 200);
        assert.equal(json.activity.status, `ACTIVITY_STATUS_${name}`);
        assert.deepEqual(json.activity.result, {});
        assert.deepEqual(json.activity.intent.updateMfaPolicyIntent, PARAMETERS);
        if (name === 'FAILED') leaksAll(json.activity.failure.message);
        else assert.equal(json.activity.failure, null);
        const { body } = simulator.requests()[0];
        assert.deepEqual((await post(simulator, '/public/v1/submit/update_mfa_policy', body)).json, json);
        assert.equal(await wasApplied(simulator), false);
      }),
    );
  }

  test(
    'COMPLETED is the normal response',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_COMPLETED' }]);
      const { json } = await update(simulator);
      assert.deepEqual(json.activity.result, { updateMfaPolicyResult: { mfaPolicyId: identifier(10) } });
      assert.equal(await wasApplied(simulator), true);
    }),
  );

  test(
    'can set the result to null or omit it, and can set the failure',
    withSimulator(async (simulator) => {
      const failure = { code: 5, message: 'm', details: null };
      const status = 'ACTIVITY_STATUS_FAILED';
      simulator.addFaults([
        { kind: 'activityStatus', status, result: 'null', failure },
        { kind: 'activityStatus', status, result: 'absent' },
      ]);
      const first = (await update(simulator)).json.activity;
      assert.equal(first.result, null);
      assert.deepEqual(first.failure, failure);
      assert.ok(!('result' in (await update(simulator)).json.activity));
    }),
  );

  test(
    'does not apply to queries, but to the next submit',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_PENDING' }]);
      await policyOf(simulator);
      assert.equal(simulator.pendingFaults(), 1);
    }),
  );
});

describe('slow', () => {
  test(
    'responds after a delay',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'slow', ms: 1 }]);
      assert.equal((await update(simulator)).status, 200);
    }),
  );

  test(
    'responds when the test releases it, and other requests are served meanwhile',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'slow', untilReleased: true, match: { path: 'update_mfa_policy' } }]);
      const order = [];
      const slow = update(simulator).then(({ status }) => order.push(status));
      assert.equal((await simulator.waitFor({ held: 1 })).requests, 1);
      order.push((await query(simulator, 'whoami')).json.username);
      assert.equal(simulator.release(), 1);
      await slow;
      assert.deepEqual(order, ['gateway', 200]);
      assert.equal(simulator.stats().held, 0);
    }),
  );

  test(
    'can stop in the middle of the body',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'slow', untilReleased: true, part: 'body' }]);
      const body = JSON.stringify({ organizationId: ORGANIZATION });
      const headers = { 'Content-Type': 'application/json', 'X-Stamp': stampOf(body) };
      const request = http.request(`${simulator.url}/public/v1/query/whoami`, { method: 'POST', headers });
      request.end(body);
      const response = await new Promise((resolve) => request.on('response', resolve));
      const announced = Number(response.headers['content-length']);
      let received = 0;
      const firstHalf = new Promise((resolve) => response.once('data', resolve));
      response.on('data', (chunk) => (received += chunk.length));
      await firstHalf;
      assert.equal(received, Math.floor(announced / 2));
      simulator.release();
      await new Promise((resolve) => response.on('end', resolve));
      assert.equal(received, announced);
    }),
  );

  test(
    'no longer holds the request of a client that has disconnected',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
      const agent = new http.Agent();
      const gone = assert.rejects(query(simulator, 'whoami', {}, { agent }));
      await simulator.waitFor({ held: 1 });
      agent.destroy();
      await gone;
      assert.equal((await simulator.waitFor({ held: 0 })).held, 0);
    }),
  );
});

describe('a connection', () => {
  test(
    'ends in the middle of a body; the request was carried out',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'truncated' }]);
      await assert.rejects(update(simulator), { code: 'ECONNRESET' });
      assert.equal(await wasApplied(simulator), true);
    }),
  );

  test(
    'ends in the middle of a chunked body',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'truncated', chunked: true, bytes: 20 }]);
      await assert.rejects(update(simulator), { code: 'ECONNRESET' });
    }),
  );

  test(
    'is closed after the request was read and carried out',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'readAndClose' }]);
      await assert.rejects(update(simulator), { message: 'socket hang up' });
      assert.equal(simulator.requests()[0].fault, 'readAndClose');
      assert.deepEqual(JSON.parse(simulator.requests()[0].body).parameters, PARAMETERS);
      assert.equal(await wasApplied(simulator), true);
    }),
  );

  test(
    'is closed after the request was read, without carrying it out if apply is false',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'readAndClose', apply: false }]);
      await assert.rejects(update(simulator), { message: 'socket hang up' });
      assert.equal(await wasApplied(simulator), false);
    }),
  );

  test(
    'that served an earlier request is closed too',
    withAgent((agent) =>
      withSimulator(async (simulator) => {
        simulator.addFaults([{ kind: 'readAndClose', match: { path: 'whoami', nth: 2 } }]);
        assert.equal((await query(simulator, 'whoami', {}, { agent })).status, 200);
        await assert.rejects(query(simulator, 'whoami', {}, { agent }), { code: 'ECONNRESET' });
        assert.equal((await query(simulator, 'whoami', {}, { agent })).status, 200);
        const places = simulator.requests().map((each) => [each.connection, each.requestOnConnection]);
        const [[first]] = places;
        assert.deepEqual(places, [
          [first, 1],
          [first, 2],
          [first + 1, 1],
        ]);
      })(),
    ),
  );

  test(
    'is reset before the body is read',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'resetBeforeRead', match: { path: 'update_mfa_policy' } }]);
      await assert.rejects(update(simulator), { code: /^(?:ECONNRESET|EPIPE)$/ });
      const [{ verdict, body }] = simulator.requests();
      assert.deepEqual([verdict.outcome, body], ['reset', '']);
      assert.equal(await wasApplied(simulator), false);
    }),
  );

  test(
    'is reset before a request',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'resetConnection' }]);
      await assert.rejects(update(simulator), { code: /^(?:ECONNRESET|EPIPE)$/ });
      assert.deepEqual(simulator.requests(), []);
      assert.equal((await update(simulator)).status, 200);
    }),
  );
});

for (const chunked of [false, true]) {
  test(
    `oversized sends exactly the requested size, chunked: ${chunked}`,
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'oversized', bytes: 3_000_001, chunked }]);
      const { body, json, headers } = await update(simulator);
      assert.equal(body.length, 3_000_001);
      assert.match(json.padding, /^x+$/);
      assert.equal(headers['content-length'], chunked ? undefined : '3000001');
      assert.equal(await wasApplied(simulator), false);
    }),
  );
}

test(
  'nonJson sends an HTML page',
  withSimulator(async (simulator) => {
    simulator.addFaults([{ kind: 'nonJson' }, { kind: 'nonJson', status: 502 }]);
    const [first, second] = [await update(simulator), await update(simulator)];
    assert.deepEqual([first.status, second.status], [200, 502]);
    assert.equal(first.headers['content-type'], 'text/html');
    assert.ok(first.text.startsWith('<!DOCTYPE html>'));
  }),
);

for (const status of [301, 302, 303, 307, 308]) {
  test(
    `redirect sends a redirect with status ${status}`,
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'redirect', status, location: '/public/v1/query/whoami' }]);
      const { status: given, headers } = await update(simulator);
      assert.deepEqual([given, headers.location], [status, '/public/v1/query/whoami']);
    }),
  );
}

describe('mutate', () => {
  const whoami = async (simulator, fault) => {
    simulator.addFaults([{ kind: 'mutate', ...fault }]);
    return (await query(simulator, 'whoami')).text;
  };

  test(
    'inserts exactly the given text',
    withSimulator(async (simulator) => {
      const set = {
        '/organizationId': '1e400',
        '/new~1~0name': '{"a": [ 18446744073709551616, -0.0 ]}',
        '/userId': 'null',
      };
      const text = await whoami(simulator, { set, remove: ['/organizationName'] });
      assert.equal(
        text,
        '{"organizationId":1e400,"userId":null,"username":"gateway","new/~name":{"a": [ 18446744073709551616, -0.0 ]}}',
      );
    }),
  );

  test(
    'changes elements of lists',
    withSimulator(async (simulator) => {
      const set = { '/authenticators/0/transports/-': '"NEW"', '/authenticators/1': '7' };
      simulator.addFaults([{ kind: 'mutate', set, remove: ['/authenticators/2'] }]);
      const { authenticators } = (await query(simulator, 'get_authenticators', { userId: testing.END_USER })).json;
      assert.equal(authenticators.length, 2);
      assert.equal(authenticators[0].transports.at(-1), 'NEW');
      assert.equal(authenticators[1], 7);
    }),
  );

  test(
    'can replace the whole response',
    withSimulator(async (simulator) => {
      assert.equal(await whoami(simulator, { set: { '': '"x"' } }), '"x"');
      assert.equal(await whoami(simulator, { body: '{"a":1,"a":2}' }), '{"a":1,"a":2}');
    }),
  );

  test(
    'changes only this response, not the stored state',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'mutate', set: { '/activity/id': '"other"' }, status: 201, headers: { a: 'b' } }]);
      const first = await update(simulator);
      assert.deepEqual([first.status, first.headers.a, first.json.activity.id], [201, 'b', 'other']);
      const { body } = simulator.requests()[0];
      const again = await post(simulator, '/public/v1/submit/update_mfa_policy', body);
      assert.notEqual(again.json.activity.id, 'other');
    }),
  );

  test(
    'reports a pointer to a value that does not exist',
    withSimulator(async (simulator) => {
      const text = await whoami(simulator, { set: { '/nowhere/else': '1' } });
      assert.ok(JSON.parse(text).simulatorError.includes('/nowhere/else'));
    }),
  );
});

test(
  'together applies all its faults to one request',
  withSimulator(async (simulator) => {
    const faults = [
      { kind: 'slow', untilReleased: true },
      { kind: 'activityStatus', status: 'ACTIVITY_STATUS_PENDING' },
      { kind: 'mutate', set: { '/activity/canReject': '"maybe"' } },
    ];
    simulator.addFaults([{ kind: 'together', faults }]);
    const answer = update(simulator);
    await simulator.waitFor({ held: 1 });
    simulator.release();
    const { activity } = (await answer).json;
    assert.deepEqual([activity.status, activity.canReject], ['ACTIVITY_STATUS_PENDING', 'maybe']);
  }),
);

describe('a fault', () => {
  const statuses = async (simulator, count) => {
    const all = [];
    for (let i = 0; i < count; i += 1) all.push((await query(simulator, 'whoami')).status);
    return all;
  };

  test(
    'applies once, from the nth time on, several times, or always',
    withSimulator(async (simulator) => {
      simulator.addFaults([
        { kind: 'status', status: 501 },
        { kind: 'status', status: 502, match: { nth: 3 }, times: 2 },
        { kind: 'status', status: 503, match: { path: '/public/v1/query/whoami', nth: 6 }, times: 'always' },
      ]);
      assert.deepEqual(await statuses(simulator, 8), [501, 200, 502, 502, 200, 503, 503, 503]);
      assert.equal(simulator.pendingFaults(), 1);
    }),
  );

  test(
    'applies to its path only',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'status', status: 503, match: { path: 'get_policy' } }]);
      assert.deepEqual(await statuses(simulator, 1), [200]);
      assert.equal((await query(simulator, 'get_policy', { policyId: identifier(6) })).status, 503);
    }),
  );

  test(
    'is not used up by a request that is refused',
    withSimulator(async (simulator) => {
      simulator.addFaults([{ kind: 'status', status: 503 }]);
      assert.equal((await query(simulator, 'whoami', { stranger: 1 })).status, 400);
      assert.deepEqual(await statuses(simulator, 2), [503, 200]);
    }),
  );

  test(
    'applies to the key set if it names the path of the key set',
    withSimulator(async (simulator) => {
      const jwks = () => exchange(`${simulator.url}/public/v1/discovery/webhooks/jwks`, { method: 'GET' });
      simulator.addFaults([{ kind: 'status', status: 503 }]);
      assert.equal((await jwks()).status, 200);
      simulator.addFaults([{ kind: 'status', status: 504, match: { path: 'jwks' } }]);
      assert.equal((await jwks()).status, 504);
    }),
  );
});

describe('the control interface', () => {
  const ask = async (simulator, method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    return exchange(`${simulator.url}/_simulator/${path}`, { method, body: text });
  };

  test(
    'accepts faults in three forms',
    withSimulator(async (simulator) => {
      const fault = { kind: 'nonJson' };
      for (const [body, pending] of [
        [fault, 1],
        [[fault, fault], 3],
        [{ faults: [fault] }, 4],
      ]) {
        assert.deepEqual((await ask(simulator, 'POST', 'faults', body)).json, { pending });
      }
      assert.deepEqual((await ask(simulator, 'DELETE', 'faults')).json, { pending: 0 });
      assert.deepEqual((await ask(simulator, 'GET', 'faults')).json, { pending: 0 });
      assert.equal((await query(simulator, 'whoami')).status, 200);
    }),
  );

  for (const [name, fault] of Object.entries({
    'an unknown kind': { kind: 'x' },
    'an unknown option': { kind: 'status', statuz: 1 },
    'an unknown match': { kind: 'status', match: { method: 'POST' } },
    'an unknown code': { kind: 'error', code: 'X' },
    'an unknown place for the code': { kind: 'error', errorCodeIn: 'x' },
    'no status': { kind: 'activityStatus' },
    'no size': { kind: 'oversized' },
    'no end': { kind: 'slow' },
    'two ends': { kind: 'slow', ms: 1, untilReleased: true },
    'no times': { kind: 'nonJson', times: 0 },
    'a bad part': { kind: 'together', faults: [{ kind: 'x' }] },
  })) {
    test(
      `refuses a fault with ${name}`,
      withSimulator(async (simulator) => {
        const { status, json } = await ask(simulator, 'POST', 'faults', [{ kind: 'nonJson' }, fault]);
        assert.equal(status, 400);
        assert.ok(json.error.length > 0);
        assert.equal(simulator.pendingFaults(), 0);
      }),
    );
  }

  test(
    'returns the received requests unchanged',
    withSimulator(async (simulator) => {
      const body = Buffer.from([0x7b, 0xff]);
      const headers = [['X-Stamp', 'x'], ['x-STAMP', 'y'], ...testing.JSON_HEADERS];
      await exchange(`${simulator.url}/public/v1/query/whoami`, { headers, body });
      await query(simulator, 'whoami');
      const [first, second] = (await ask(simulator, 'GET', 'requests')).json.requests;
      assert.deepEqual([first.body, first.bodyBase64, first.bodyBytes], [null, body.toString('base64'), 2]);
      assert.deepEqual(first.headers.slice(1, 5), headers);
      assert.equal(first.verdict.outcome, 'refused');
      assert.equal(first.verdict.status, 401);
      assert.deepEqual([first.number, second.number], [1, 2]);
      assert.equal(second.body, JSON.stringify({ organizationId: ORGANIZATION }));
      assert.equal(second.publicKey, testing.apiKeyNamed('gateway p256').publicKey);
      assert.deepEqual([second.method, second.path], ['POST', '/public/v1/query/whoami']);
      const { paths } = (await ask(simulator, 'GET', 'stats')).json;
      const counts = { requests: 2, accepted: 1, refused: 1, reset: 0, incomplete: 0 };
      assert.deepEqual(paths, { '/public/v1/query/whoami': counts });
      await ask(simulator, 'DELETE', 'requests');
      assert.deepEqual((await ask(simulator, 'GET', 'requests')).json, { requests: [] });
    }),
  );

  test(
    'keeps the last thousand requests',
    withSimulator(async (simulator) => {
      for (let i = 0; i < 1003; i += 1) await exchange(`${simulator.url}/${i}`);
      const kept = simulator.requests();
      assert.deepEqual([kept.length, kept[0].path, simulator.stats().requests], [1000, '/3', 1003]);
    }),
  );

  test(
    'waits for requests',
    withSimulator(async (simulator) => {
      const waiting = ask(simulator, 'GET', 'stats?requests=2');
      await query(simulator, 'whoami');
      await query(simulator, 'whoami');
      assert.equal((await waiting).json.requests, 2);
      assert.equal((await ask(simulator, 'GET', 'stats?requests=3&timeoutMs=1')).status, 504);
    }),
  );

  test(
    'changes settings, and refuses unknown ones',
    withSimulator(async (simulator) => {
      const changed = await ask(simulator, 'POST', 'settings', { timestamps: 'string', clockOffsetMs: 5 });
      assert.deepEqual(changed.json, {
        ...{ timestamps: 'string', references: 'checked', voteAnswer: 'target', clockOffsetMs: 5, rateLimits: [] },
        ...{ answers: 'state', choice: 0 },
      });
      assert.equal((await ask(simulator, 'POST', 'settings', { timestamps: 'x' })).status, 400);
      assert.equal((await ask(simulator, 'POST', 'settings', { other: 1 })).status, 400);
    }),
  );

  test(
    'changes the clock',
    withSimulator(async (simulator) => {
      await ask(simulator, 'POST', 'settings', { clockOffsetMs: 3_600_001 });
      assert.equal((await update(simulator)).status, 400);
    }),
  );

  test(
    'resets everything',
    withSimulator(async (simulator) => {
      await update(simulator);
      simulator.addFaults([{ kind: 'nonJson' }]);
      simulator.change({ timestamps: 'string' });
      await ask(simulator, 'POST', 'reset');
      assert.deepEqual(simulator.requests(), []);
      assert.equal(await wasApplied(simulator), false);
      assert.equal((await update(simulator)).json.activity.createdAt.nanos.length > 0, true);
    }),
  );

  test(
    'has no other paths',
    withSimulator(async (simulator) => {
      assert.equal((await ask(simulator, 'GET', 'nothing')).status, 404);
      assert.equal((await ask(simulator, 'POST', 'stats')).status, 404);
      assert.equal((await exchange(`${simulator.url}/_simulator/faults`, { body: '{' })).status, 400);
    }),
  );
});
