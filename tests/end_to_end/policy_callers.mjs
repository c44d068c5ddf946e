// Callers for tests of the policy. Whoever comes over plaintext comes from loopback, so tokens tell them apart; keys
// that the simulator knows tell by which grant something was signed; and the config is replaced while the gateway runs.
import { createHash } from 'node:crypto';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { putConfig, writeKey } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
/** The bearer token of a caller. */
export const tokenOf = (name) => sha256(`token of ${name}`);

/** A caller of the config. */
export const callerOf = (name, grants) => ({ name, loopback: true, token_sha256: [sha256(tokenOf(name))], grants });

/** `gateway` as a caller sees it. */
export function asCaller(gateway, name) {
  const metadata = { authorization: `Bearer ${tokenOf(name)}` };
  const with_ = (options) => ({ ...options, metadata: { ...metadata, ...options?.metadata } });
  return {
    call: (method, request, options) => gateway.call(method, request, with_(options)),
    refusal: (method, request, options) => gateway.refusal(method, request, with_(options)),
    stream: (method, request, options) => gateway.stream(method, request, with_(options)),
  };
}

/** Names of the simulator's keys by what configs call them. */
const KEYS = { main: 'gateway p256', other: 'vectors p256', treasury: 'vectors secp256k1', cold: 'vectors ed25519' };

export const publicKeyOf = (name) => apiKeyNamed(KEYS[name]).publicKey;

/** The text of its key file. */
export const keyText = (name) => `${apiKeyNamed(KEYS[name]).privateKey}:${apiKeyNamed(KEYS[name]).curve}\n`;

/** A key of the config, with its file in `folder`. It signs for all organizations if none are named. */
export const keyOf = (folder, name, organizations) => ({
  name,
  file: writeKey(folder, apiKeyNamed(KEYS[name]), `${name}.key`),
  ...(organizations ? { organizations } : { all_organizations: true }),
});

/** The key that a request is stamped with, whatever upstream made of it. */
export function stampKeyOf({ headers }) {
  const [, stamp] = headers.find(([name]) => name.toLowerCase() === 'x-stamp');
  return JSON.parse(Buffer.from(stamp, 'base64url')).publicKey;
}

/** Does what changes something that is reloaded, and waits until the log tells of it. */
export async function reloaded(gateway, change, ...events) {
  const awaited = events.length > 0 ? events : ['reloaded'];
  const before = logged(gateway, ...awaited).length;
  change();
  gateway.child.kill('SIGHUP');
  return (await logLines(gateway, before + 1, ...awaited)).at(-1);
}

/** Replaces members of the config of a running gateway; resolves when they are in effect. */
export function reconfigure(gateway, changes) {
  Object.assign(gateway.config, changes);
  return reloaded(gateway, () => putConfig(gateway.configFile, JSON.stringify(gateway.config)));
}
