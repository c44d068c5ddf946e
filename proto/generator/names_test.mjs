import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bare, camel, pascal, snake, upperSnake, versionOf } from './names.mjs';

test('a JSON name becomes a proto name, and protoc makes the JSON name again', () => {
  const names = [
    ['organizationId', 'organization_id'],
    ['chainCaip2', 'chain_caip2'],
    ['caip2Prefix', 'caip2_prefix'],
    ['x', 'x'],
    ['oauth2CredentialId', 'oauth2_credential_id'],
    ['attestationDocB64', 'attestation_doc_b64'],
  ];
  for (const [json, proto] of names) {
    assert.equal(snake(json), proto);
    assert.equal(camel(proto), json);
  }
});

test('letters that stand together are one word', () => {
  assert.equal(snake('otpURL'), 'otp_url');
  assert.equal(snake('URLPath'), 'url_path');
});

test('the last segment of a path becomes the name of a method', () => {
  assert.equal(pascal('create_wallet'), 'CreateWallet');
  assert.equal(pascal('eth_undelegate_7702'), 'EthUndelegate7702');
});

test('the name of an enum becomes the prefix of its values', () => {
  assert.equal(upperSnake('AddressFormat'), 'ADDRESS_FORMAT');
  assert.equal(upperSnake('Oauth2Provider'), 'OAUTH2_PROVIDER');
});

test('a definition loses the prefix of its version', () => {
  assert.equal(bare('v1WalletAccount'), 'WalletAccount');
  assert.equal(bare('externaldatav1Timestamp'), 'Timestamp');
  assert.equal(bare('billingSetPaymentMethodIntent'), 'SetPaymentMethodIntent');
  assert.equal(bare('WebhookKey'), 'WebhookKey');
});

test('the version of an activity type is its suffix', () => {
  assert.equal(versionOf('ACTIVITY_TYPE_CREATE_USERS_V4'), 'V4');
  assert.equal(versionOf('ACTIVITY_TYPE_CREATE_WALLET'), '');
  assert.equal(versionOf('ACTIVITY_TYPE_SIGN_V'), '');
});
