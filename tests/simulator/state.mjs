// The service's state. `new State` creates a copy of the fixture.
import { notFound, unauthenticated } from './errors.mjs';
import { publicKeyFromHex } from './keys.mjs';
import { publicKeyFromCose } from './webauthn.mjs';

/** The creation time of the fixture's records, in seconds since 1970. */
const FIXTURE_TIME = 1_700_000_000n;

/** The maximum number of a user's expiring keys. A further key silently removes the oldest one. */
const MAX_EXPIRING_KEYS = 10;

/** The maximum number of stored activities, which limits the memory in a long benchmark. */
const MAX_ACTIVITIES = 20_000;

const CREDENTIAL_TYPE_OF_CURVE = {
  p256: 'CREDENTIAL_TYPE_API_KEY_P256',
  secp256k1: 'CREDENTIAL_TYPE_API_KEY_SECP256K1',
  ed25519: 'CREDENTIAL_TYPE_API_KEY_ED25519',
};

const RECORDS = [
  'wallets',
  'privateKeys',
  'policies',
  'sessionProfiles',
  'oauth2Credentials',
  'webhookEndpoints',
  'otpFlows',
  'earnWrappers',
];

export class State {
  /** @type {object[]} */
  wallets;
  /** @type {object[]} */
  privateKeys;
  /** @type {object[]} */
  policies;
  /** @type {object[]} */
  sessionProfiles;
  /** @type {object[]} */
  oauth2Credentials;
  /** @type {object[]} */
  webhookEndpoints;
  /** @type {object[]} */
  otpFlows;
  /** @type {object[]} */
  earnWrappers;

  /**
   * @param {object} fixture
   * @param {{publicKey: string, curve: string}[]} publicKeys additional API keys of the fixture's first user
   */
  constructor(fixture, publicKeys = []) {
    const copy = structuredClone(fixture);
    this.organizations = new Map(copy.organizations.map((each) => [each.organizationId, each]));
    this.users = copy.users.map(completeUser);
    for (const name of RECORDS) this[name] = (copy[name] ?? []).map(withTimes);
    this.tokenKey = publicKeyFromHex(copy.tokenKey.publicKey, 'p256');
    this.issuerKeys = new Map(copy.tokenIssuers.map((each) => [each.issuer, publicKeyFromHex(each.publicKey, 'p256')]));
    this.smartContractInterfaces = [];
    this.withdrawals = [];
    this.activitiesByFingerprint = new Map();
    this.activitiesById = new Map();
    this.credentialsByPublicKey = new Map();
    this.credentialsById = new Map();

    for (const user of this.users) {
      user.apiKeys.forEach((apiKey) => this.register(user, apiKey));
      user.authenticators.forEach((authenticator) => this.registerAuthenticator(user, authenticator));
    }
    publicKeys.forEach(({ publicKey, curve }, index) => {
      const [user] = this.users;
      if (this.credentialsByPublicKey.has(publicKey)) return;
      const [apiKeyId, apiKeyName] = [`public-key-${index + 1}`, `from --public-key ${index + 1}`];
      const apiKey = { apiKeyId, apiKeyName, publicKey, curve };
      user.apiKeys.push(withTimes(apiKey));
      this.register(user, apiKey);
    });
  }

  /** Makes the key's stamps valid. */
  register(user, apiKey) {
    const { publicKey, curve } = apiKey;
    const key = publicKeyFromHex(publicKey, curve);
    this.credentialsByPublicKey.set(publicKey, { ...apiKey, key, user });
  }

  registerAuthenticator(user, { credentialId, coseKey, rpId, origin }) {
    const key = publicKeyFromCose(Buffer.from(coseKey, 'hex'));
    this.credentialsById.set(credentialId, { publicKey: coseKey, credentialId, rpId, origin, key, user });
  }

  /** Adds an expiring key to a user. */
  addExpiringKey(user, apiKey) {
    this.register(user, apiKey);
    user.apiKeys.push(apiKey);
    const expiring = user.apiKeys.filter(({ expiresAtMs }) => expiresAtMs !== undefined);
    if (expiring.length > MAX_EXPIRING_KEYS) this.removeApiKeys(user, (each) => each === expiring[0]);
  }

  /** Removes API keys from a user; their stamps become invalid. */
  removeApiKeys(user, isRemoved) {
    for (const { publicKey } of user.apiKeys.filter(isRemoved)) this.credentialsByPublicKey.delete(publicKey);
    user.apiKeys = user.apiKeys.filter((apiKey) => !isRemoved(apiKey));
  }

  // The interface that verifyStamp uses.
  byPublicKey(publicKey) {
    return this.credentialsByPublicKey.get(publicKey);
  }

  byCredentialId(credentialId) {
    return this.credentialsById.get(credentialId);
  }

  issuerKey(issuer) {
    return this.issuerKeys.get(issuer);
  }

  userByContact(contact) {
    return this.users.find(({ userEmail }) => userEmail !== undefined && userEmail === contact);
  }

  userByProvider({ iss, aud, sub }) {
    const isIt = ({ issuer, audience, subject }) => issuer === iss && audience === aud && subject === sub;
    return this.users.find(({ oauthProviders }) => oauthProviders.some(isIt));
  }

  /**
   * Returns the organization. Throws unless it is the credential's own organization or a child of it.
   * @throws {import('./errors.mjs').Refusal}
   */
  organizationFor(credential, organizationId) {
    const organization = this.organizations.get(organizationId);
    if (organization === undefined) throw notFound('ORGANIZATION_NOT_FOUND', 'no such organization');
    const home = credential.user.organizationId;
    if (home !== organizationId && home !== organization.parentOrganizationId) {
      throw unauthenticated('PUBLIC_KEY_NOT_FOUND', 'the credential is not registered in this organization');
    }
    return organization;
  }

  /** The record for which `isIt` is true in one of the organization's lists, or undefined. `kind` names the list. */
  find(kind, organizationId, isIt) {
    return this[kind].find((record) => record.organizationId === organizationId && isIt(record));
  }

  user(organizationId, userId) {
    const user = this.find('users', organizationId, (each) => each.userId === userId);
    if (user === undefined) throw notFound('REQUEST_INVALID', 'no such user');
    return user;
  }

  /** Makes the activity the response to a repeated vote. */
  keepVote(fingerprint, activity) {
    this.activitiesByFingerprint.set(fingerprint, activity);
  }

  keepActivity(activity) {
    this.activitiesByFingerprint.set(activity.fingerprint, activity);
    this.activitiesById.set(activity.id, activity);
    if (this.activitiesById.size <= MAX_ACTIVITIES) return;
    const [oldest] = this.activitiesById.values();
    this.activitiesById.delete(oldest.id);
    this.activitiesByFingerprint.delete(oldest.fingerprint);
  }
}

export function timeOf(milliseconds) {
  const ms = BigInt(milliseconds);
  return { seconds: String(ms / 1000n), nanos: String((ms % 1000n) * 1_000_000n) };
}

function withTimes(record) {
  const time = timeOf(FIXTURE_TIME * 1000n);
  return { createdAt: time, updatedAt: time, ...record };
}

function completeUser(user) {
  const complete = withTimes({ apiKeys: [], authenticators: [], oauthProviders: [], mfaPolicies: [], ...user });
  for (const name of ['apiKeys', 'authenticators', 'oauthProviders', 'mfaPolicies']) {
    complete[name] = complete[name].map(withTimes);
  }
  return complete;
}

export function credentialTypeOf({ curve, credentialType }) {
  return credentialType ?? CREDENTIAL_TYPE_OF_CURVE[curve];
}
