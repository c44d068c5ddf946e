// Uses upstream's own client libraries against the simulator, as the web page of an end user does. A passkey in
// software stamps bodies in the form that StampService.Prepare returns.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { startSimulator } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { Authenticator } from './authenticator.mjs';
import { load } from './packages.mjs';

const { TurnkeyClient: Client } = load('@turnkey/http');
const { WebauthnStamper } = load('@turnkey/webauthn-stamper');

const [passkey] = testing.readVectors('stamps.json').webauthn;
let authenticator;
beforeEach(() => {
  authenticator = new Authenticator({
    ...{ privateKey: passkey.privateKey, publicKey: passkey.publicKeyUncompressed },
    ...{ credentialId: passkey.stamp.credentialId, rpId: passkey.rpId, origin: passkey.origin },
  }).install();
});

const withSimulator = (use) => testing.withSimulator(startSimulator, {}, use);

/** Returns a body of stamp_login as the gateway renders it. */
const preparedLogin = () =>
  `{"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"${testing.freshTimestamp()}",` +
  `"organizationId":"${testing.ORGANIZATION}","parameters":{"publicKey":"02${'1f'.repeat(32)}"}}`;

const submitLogin = (simulator, body, { stampHeaderName, stampHeaderValue }) =>
  testing.exchange(`${simulator.url}/public/v1/submit/stamp_login`, {
    headers: [...testing.JSON_HEADERS, [stampHeaderName, stampHeaderValue]],
    body,
  });

describe("the package's passkey stamper", () => {
  test('uses the challenge of PrepareResponse.webauthn_challenge', async () => {
    for (const body of ['{}', '{"hello":"world"}', preparedLogin(), '{"name":"é😀"}']) {
      await new WebauthnStamper({ rpId: passkey.rpId }).stamp(body);
      const digest = createHash('sha256').update(body).digest('hex');
      assert.deepEqual(authenticator.challenges.at(-1), Buffer.from(digest, 'ascii'));
    }
    // The C++ tests compare the gateway's challenge with the same value.
    assert.equal(authenticator.challenges[1].toString(), passkey.bodySha256Hex);
  });

  test(
    'makes valid stamps of bodies that the gateway rendered',
    withSimulator(async (simulator) => {
      const body = preparedLogin();
      const stamp = await new WebauthnStamper({ rpId: passkey.rpId }).stamp(body);
      const { status, json } = await submitLogin(simulator, body, stamp);
      assert.equal(status, 200);
      assert.equal(json.activity.status, 'ACTIVITY_STATUS_COMPLETED');
      assert.equal(json.activity.votes[0].userId, testing.END_USER);
      assert.equal(json.activity.votes[0].scheme, 'SIGNATURE_SCHEME_TK_WEBAUTHN');
      const [, claims] = json.activity.result.stampLoginResult.session.split('.');
      assert.equal(JSON.parse(Buffer.from(claims, 'base64url')).user_id, testing.END_USER);
    }),
  );

  test(
    'makes stamps that are valid only for the bytes that it stamped',
    withSimulator(async (simulator) => {
      const body = preparedLogin();
      const stamp = await new WebauthnStamper({ rpId: passkey.rpId }).stamp(body);
      for (const other of [` ${body}`, body.replace('02', '03'), JSON.stringify({ a: 1 })]) {
        assert.equal((await submitLogin(simulator, other, stamp)).status, 401);
      }
    }),
  );

  test('finds no passkey on a page of another origin', async () => {
    await assert.rejects(new WebauthnStamper({ rpId: 'example.org' }).stamp('{}'), { name: 'SecurityError' });
    const allowCredentials = [{ type: 'public-key', id: Buffer.from('another') }];
    const stamper = new WebauthnStamper({ rpId: passkey.rpId, allowCredentials });
    await assert.rejects(stamper.stamp('{}'), { name: 'NotAllowedError' });
  });
});

test(
  "the package's client logs in with a passkey",
  withSimulator(async (simulator) => {
    const client = new Client({ baseUrl: simulator.url }, new WebauthnStamper({ rpId: passkey.rpId }));
    const { activity } = await client.stampLogin({
      type: 'ACTIVITY_TYPE_STAMP_LOGIN',
      timestampMs: testing.freshTimestamp(),
      organizationId: testing.ORGANIZATION,
      parameters: { publicKey: `02${'1f'.repeat(32)}` },
    });
    assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
    assert.equal(simulator.requests().at(-1).verdict.outcome, 'accepted');
  }),
);
