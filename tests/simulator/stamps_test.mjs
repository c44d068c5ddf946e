// Tests the simulator's verification of stamps with vectors from upstream's client libraries.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { rawSignature } from './encodings.mjs';
import { Refusal } from './errors.mjs';
import { keccak256 } from './keccak.mjs';
import { publicKeyFromHex } from './keys.mjs';
import { readFixture, startSimulator } from './server.mjs';
import { verifyStamp } from './stamps.mjs';
import { State } from './state.mjs';
import * as testing from './testing.mjs';
import { publicKeyFromCose } from './webauthn.mjs';

const { apiKeyNamed, encodeStamp, exchange, JSON_HEADERS, readVectors, stampOf, webAuthnStampOf } = testing;

const vectors = readVectors('stamps.json');

function curveOf(scheme) {
  if (scheme.includes('SECP256K1')) return 'secp256k1';
  return scheme.includes('ED25519') ? 'ed25519' : 'p256';
}

/** A register that contains only this key. */
function registerOf(publicKey, curve) {
  const credential = { publicKey, curve, key: publicKeyFromHex(publicKey, curve) };
  return { byPublicKey: (key) => (key === publicKey ? credential : undefined), byCredentialId: () => undefined };
}

function isRefused(stamp, body, register, errorCode = 'SIGNATURE_INVALID') {
  assert.throws(
    () => verifyStamp(stamp, body, register),
    (error) => error instanceof Refusal && error.http === 401 && error.errorCode === errorCode,
  );
}

// The maximum number of damaged copies of one text.
const MAX_FLIPS = 2000;

/**
 * Copies of the bytes, each with one changed bit. The changed bits are `least` positions apart; in a long text further,
 * so that there are at most MAX_FLIPS copies.
 */
function* flips(bytes, least = 1) {
  const step = Math.max(least, Math.ceil((bytes.length * 8) / MAX_FLIPS));
  for (let bit = 0; bit < bytes.length * 8; bit += step) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3] ^= 1 << (bit & 7);
    yield copy;
  }
}

describe('the vectors', () => {
  for (const vector of [...vectors.p256, ...vectors.other]) {
    const { publicKey, scheme, signature } = vector.stamp;
    const register = registerOf(publicKey, curveOf(scheme));
    const body = Buffer.from(vector.bodyBase64, 'base64');
    const headerOf = (stamp) => ({ header: 'x-stamp', value: encodeStamp(stamp) });
    // JavaScript verifies the EIP191 signatures, which takes about 5 ms for each signature.
    const step = scheme.endsWith('EIP191') ? 13 : 1;

    test(`${vector.id} is accepted`, () => {
      const stamper = verifyStamp({ header: 'x-stamp', value: vector.headerValue }, body, register);
      assert.equal(stamper.publicKey, publicKey);
      assert.equal(stamper.scheme, scheme);
    });

    test(`${vector.id} is refused with any bit of its signature changed`, () => {
      for (const changed of flips(Buffer.from(signature, 'hex'), step)) {
        isRefused(headerOf({ publicKey, scheme, signature: changed.toString('hex') }), body, register);
      }
    });

    test(`${vector.id} is refused with any bit of its body changed`, () => {
      for (const changed of flips(body, step)) {
        isRefused({ header: 'x-stamp', value: vector.headerValue }, changed, register);
      }
    });

    test(`${vector.id} is refused if another key is registered`, () => {
      const stamp = { header: 'x-stamp', value: vector.headerValue };
      const other = { p256: 'gateway p256', secp256k1: 'vectors p256', ed25519: 'gateway p256' }[curveOf(scheme)];
      isRefused(stamp, body, registerOf(apiKeyNamed(other).publicKey, 'p256'), 'PUBLIC_KEY_NOT_FOUND');
    });
  }

  test("the stamp in the documentation of upstream's command-line tool is accepted", () => {
    const [{ publicKey, scheme, signature, message }] = vectors.published;
    const stamp = { header: 'x-stamp', value: encodeStamp({ publicKey, signature, scheme }) };
    assert.equal(verifyStamp(stamp, Buffer.from(message), registerOf(publicKey, 'p256')).scheme, scheme);
  });

  test('high and low S are both among the P-256 vectors', () => {
    const highs = vectors.p256.map(({ check }) => check.highS);
    assert.ok(highs.includes(true) && highs.includes(false));
  });
});

describe('an API key stamp', () => {
  const body = Buffer.from('{}');
  const apiKey = apiKeyNamed('gateway p256');
  const register = registerOf(apiKey.publicKey, 'p256');
  const good = JSON.parse(Buffer.from(stampOf(body, apiKey), 'base64url'));
  const header = (value) => ({ header: 'x-stamp', value });

  const spoiled = {
    'plain JSON': JSON.stringify(good),
    'padded base64url': `${Buffer.from(`${JSON.stringify(good)} `).toString('base64url')}=`,
    'standard base64': Buffer.from(JSON.stringify({ ...good, scheme: '???>>>' })).toString('base64'),
    'no JSON': Buffer.from('stamp').toString('base64url'),
    'a list': encodeStamp([good]),
    null: encodeStamp(null),
    'a member too many': encodeStamp({ ...good, extra: '' }),
    'no scheme': encodeStamp({ ...good, scheme: undefined }),
    'an unknown scheme': encodeStamp({ ...good, scheme: 'SIGNATURE_SCHEME_TK_API_P521' }),
    "another curve's scheme": encodeStamp({ ...good, scheme: 'SIGNATURE_SCHEME_TK_API_SECP256K1' }),
    'a signature that is a number': encodeStamp({ ...good, signature: 1 }),
    'a signature that is no hex': encodeStamp({ ...good, signature: `${good.signature}g` }),
    'an empty signature': encodeStamp({ ...good, signature: '' }),
    'a scheme twice': Buffer.from(`${JSON.stringify(good).slice(0, -1)},"scheme":"x"}`).toString('base64url'),
    'bytes after the signature': encodeStamp({ ...good, signature: `${good.signature}00` }),
  };
  for (const [name, value] of Object.entries(spoiled)) {
    test(`is refused as ${name}`, () => isRefused(header(value), body, register));
  }

  test('must spell its key exactly as it was registered', () => {
    const value = encodeStamp({ ...good, publicKey: good.publicKey.toUpperCase() });
    isRefused(header(value), body, register, 'PUBLIC_KEY_NOT_FOUND');
  });
});

describe('a passkey stamp', () => {
  const [vector] = vectors.webauthn;
  const key = publicKeyFromCose(Buffer.from(vector.coseKeyBase64url, 'base64url'));
  const { rpId, origin } = vector;
  const { credentialId } = vector.stamp;
  const credential = { publicKey: vector.coseKeyBase64url, credentialId, rpId, origin, key };
  const register = { byCredentialId: (id) => (id === credentialId ? credential : undefined) };
  const body = Buffer.from(vector.body);
  const header = (stamp) => ({ header: 'x-stamp-webauthn', value: JSON.stringify(stamp) });

  test("of upstream's package is accepted", () => {
    const stamper = verifyStamp({ header: 'x-stamp-webauthn', value: vector.headerValue }, body, register);
    assert.equal(stamper.scheme, 'SIGNATURE_SCHEME_TK_WEBAUTHN');
  });

  test('is accepted in base64url too', () => {
    verifyStamp({ header: 'x-stamp-webauthn', value: encodeStamp(webAuthnStampOf(body)) }, body, register);
  });

  test('is refused with any bit of a signed part changed', () => {
    for (const member of ['authenticatorData', 'clientDataJson', 'signature']) {
      for (const changed of flips(Buffer.from(vector.stamp[member], 'base64url'))) {
        isRefused(header({ ...vector.stamp, [member]: changed.toString('base64url') }), body, register);
      }
    }
  });

  for (const [name, changes] of [
    ['another origin', { origin: 'https://example.org' }],
    ['another relying party', { rpId: 'example.org' }],
    ['no user present', { flags: 0x04 }],
    ['another ceremony', { type: 'webauthn.create' }],
  ]) {
    test(`is refused for ${name}`, () => isRefused(header(webAuthnStampOf(body, changes)), body, register));
  }

  test('is refused for another body', () => isRefused(header(webAuthnStampOf(body)), Buffer.from('{ }'), register));

  test('is refused for an authenticator that is not registered', () => {
    isRefused(header({ ...vector.stamp, credentialId: 'AAAA' }), body, register, 'CREDENTIAL_NOT_FOUND');
  });
});

for (const scheme of Object.keys(testing.ATTESTED_SCHEMES)) {
  describe(`an attested stamp, ${scheme}`, () => {
    const body = Buffer.from('{"hello":"world"}');
    const register = new State(readFixture());
    const header = (stamp) => ({ header: 'x-stamp-attested', value: encodeStamp(stamp) });
    const good = testing.attestedStampOf(body, scheme);
    const { publicKey } = good;
    const tokenFor = testing.ATTESTED_SCHEMES[scheme];
    const withToken = (token) => header(testing.attestedStampOf(body, scheme, { token }));
    const withClaims = (changes) => withToken(tokenFor(publicKey, changes));

    test("is accepted for the token's user, as base64url and as plain JSON", () => {
      for (const stamp of [header(good), { header: 'x-stamp-attested', value: JSON.stringify(good) }]) {
        const stamper = verifyStamp(stamp, body, register);
        assert.equal(stamper.credential.user.userId, testing.END_USER);
        assert.equal(stamper.publicKey, publicKey);
        assert.equal(stamper.scheme, 'SIGNATURE_SCHEME_TK_ATTESTED_P256');
        assert.ok(stamper.credential.expiresAtMs > Date.now());
      }
    });

    test('is refused with any bit of its signature, its body or its token changed', () => {
      for (const changed of flips(Buffer.from(good.signature, 'hex'))) {
        isRefused(header({ ...good, signature: changed.toString('hex') }), body, register);
      }
      for (const changed of flips(body)) isRefused(header(good), changed, register);
      const [head, claims, signature] = good.publicKeyAttestation.split('.');
      for (const changed of flips(Buffer.from(signature, 'base64url'), 3)) {
        isRefused(withToken(`${head}.${claims}.${changed.toString('base64url')}`), body, register);
      }
      for (const changed of flips(Buffer.from(claims, 'base64url'), 3)) {
        isRefused(withToken(`${head}.${changed.toString('base64url')}.${signature}`), body, register);
      }
    });

    test('is refused with the token of another key, or with a signature of another key', () => {
      const other = apiKeyNamed('end user 1');
      isRefused(withToken(tokenFor(other.publicKey)), body, register);
      isRefused(header({ ...good, publicKey: other.publicKey }), body, register);
      isRefused(header({ ...good, publicKey: publicKey.toUpperCase() }), body, register);
    });

    test('is refused with a token without expiry, or with a token that names no user', () => {
      isRefused(withClaims({ exp: undefined }), body, register);
      isRefused(withClaims({ exp: 'never' }), body, register);
      const nobody = { contact: 'nobody@example.com', sub: 'nobody' };
      isRefused(withClaims(nobody), body, register, 'CREDENTIAL_NOT_FOUND');
      isRefused(withClaims({ contact: undefined, sub: undefined }), body, register, 'CREDENTIAL_NOT_FOUND');
    });

    test('is refused with a malformed token, or another algorithm', () => {
      const token = good.publicKeyAttestation;
      for (const bad of ['x', 'a.b', 'a.b.c', '..', `${token}.x`, `${token}=`]) {
        isRefused(withToken(bad), body, register);
      }
      const [, claims] = good.publicKeyAttestation.split('.');
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      isRefused(withToken(`${none}.${claims}.`), body, register);
    });

    test('is refused with the name of the other scheme, or of an unknown one', () => {
      for (const other of [...Object.keys(testing.ATTESTED_SCHEMES), 'STAMP_ATTESTED_SCHEME_P384', 'toString']) {
        if (other !== scheme) isRefused(header({ ...good, scheme: other }), body, register);
      }
    });

    test('is refused with a missing or an additional member', () => {
      isRefused(header({ ...good, more: 'x' }), body, register);
      isRefused(header({ ...good, publicKeyAttestation: undefined }), body, register);
      isRefused({ header: 'x-stamp-attested', value: stampOf(body) }, body, register);
    });
  });
}

test("the vectors' tokens are refused, because their issuer is unknown", () => {
  for (const { headerValue, body } of vectors.attested) {
    isRefused({ header: 'x-stamp-attested', value: headerValue }, Buffer.from(body), new State(readFixture()));
  }
});

test('a signature with needless leading zero bytes is accepted', () => {
  const der = Buffer.from('300a0204000000010202007f', 'hex');
  const expected = Buffer.alloc(64);
  [expected[31], expected[63]] = [0x01, 0x7f];
  assert.deepEqual(rawSignature(der), expected);
});

test('Keccak-256 is the version from before SHA-3', () => {
  const digest = (text) => keccak256(Buffer.from(text)).toString('hex');
  assert.equal(digest(''), 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
  assert.equal(digest('abc'), '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45');
  assert.notEqual(digest('abc'), createHash('sha3-256').update('abc').digest('hex'));
});

describe('a request', () => {
  const body = JSON.stringify({ organizationId: testing.ORGANIZATION });
  const good = ['X-Stamp', stampOf(body)];
  const passkey = ['X-Stamp-WebAuthn', JSON.stringify(webAuthnStampOf(body))];
  const [verification, oidc] = Object.keys(testing.ATTESTED_SCHEMES);
  const attested = (scheme, token) => {
    const stamp = testing.attestedStampOf(body, scheme, { token });
    return ['X-Stamp-Attested', encodeStamp(stamp)];
  };
  const expired = testing.verificationTokenFor(testing.UNREGISTERED.publicKey, { exp: 1_700_000_000 });
  const send = (simulator, headers) => exchange(`${simulator.url}/public/v1/query/whoami`, { headers, body });

  for (const [name, headers, status] of [
    ['with one stamp is accepted', [...JSON_HEADERS, good], 200],
    ['with a passkey stamp is accepted', [...JSON_HEADERS, passkey], 200],
    ['with an attested stamp is accepted', [...JSON_HEADERS, attested(verification)], 200],
    ["with a stamp attested by the user's provider is accepted", [...JSON_HEADERS, attested(oidc)], 200],
    ['with a stamp whose token has expired is refused', [...JSON_HEADERS, attested(verification, expired)], 401],
    ['with a key stamp and an attested one is refused', [...JSON_HEADERS, good, attested(oidc)], 401],
    ['without a stamp is refused', JSON_HEADERS, 401],
    ['with the same stamp twice is refused', [...JSON_HEADERS, good, good], 401],
    ['with two kinds of stamp is refused', [...JSON_HEADERS, good, passkey], 401],
    ['without Content-Type is refused', [good], 415],
    ['with text as Content-Type is refused', [['Content-Type', 'text/plain'], good], 415],
    ['with two Content-Types is refused', [...JSON_HEADERS, JSON_HEADERS[0], good], 415],
    ['whose Content-Type names UTF-8 is accepted', [['Content-Type', 'application/json; charset=utf-8'], good], 200],
    [
      'whose Content-Type names another encoding is refused',
      [['Content-Type', 'application/json; charset=latin1'], good],
      415,
    ],
    ['that is compressed is refused', [...JSON_HEADERS, ['Content-Encoding', 'gzip'], good], 415],
    ['without Accept is accepted', [JSON_HEADERS[0], good], 200],
    ['that accepts any type is accepted', [JSON_HEADERS[0], ['Accept', '*/*'], good], 200],
    ['that accepts only text is refused', [JSON_HEADERS[0], ['Accept', 'text/html, text/*'], good], 406],
    [
      'that accepts all types except JSON is refused',
      [JSON_HEADERS[0], ['Accept', '*/*, application/json;q=0'], good],
      406,
    ],
  ]) {
    test(
      name,
      testing.withSimulator(startSimulator, {}, async (simulator) => {
        assert.equal((await send(simulator, headers)).status, status);
        assert.equal(simulator.requests()[0].verdict.outcome, status === 200 ? 'accepted' : 'refused');
      }),
    );
  }
});
