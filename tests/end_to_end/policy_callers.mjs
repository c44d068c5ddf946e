// Callers for tests of the policy. All of them connect over loopback, so the gateway identifies them by tokens. Each
// grant can have a key of its own, so a test sees by the stamp which grant was used. The config can be replaced while
// the gateway runs.
import { createHash } from 'node:crypto';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { putConfig, writeKey } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
/** The bearer token of a caller. */
export const tokenOf = (name) => sha256(`token of ${name}`);

/** A caller of the config. */
export const callerOf = (name, grants) => ({ name, loopback: true, token_sha256: [sha256(tokenOf(name))], grants });

/** The gateway's methods for calls, with the token of this caller. */
export function asCaller(gateway, name) {
  const metadata = { authorization: `Bearer ${tokenOf(name)}` };
  const with_ = (options) => ({ ...options, metadata: { ...metadata, ...options?.metadata } });
  return {
    call: (method, request, options) => gateway.call(method, request, with_(options)),
    refusal: (method, request, options) => gateway.refusal(method, request, with_(options)),
    stream: (method, request, options) => gateway.stream(method, request, with_(options)),
  };
}

/** The names of the simulator's keys, by their names in configs. */
const KEYS = { main: 'gateway p256', other: 'vectors p256', treasury: 'vectors secp256k1', cold: 'vectors ed25519' };

export const publicKeyOf = (name) => apiKeyNamed(KEYS[name]).publicKey;

/** The text of the key file for the key that configs call `name`. */
export const keyText = (name) => `${apiKeyNamed(KEYS[name]).privateKey}:${apiKeyNamed(KEYS[name]).curve}\n`;

/** A key of the config, with its file in `folder`. It signs for `organizations`, or for all if they are not given. */
export const keyOf = (folder, name, organizations) => ({
  name,
  file: writeKey(folder, apiKeyNamed(KEYS[name]), `${name}.key`),
  ...(organizations ? { organizations } : { all_organizations: true }),
});

/** The name of the key that stamped a request, also if upstream refused the request. */
export function stampKeyOf({ headers }) {
  const [, stamp] = headers.find(([name]) => name.toLowerCase() === 'x-stamp');
  return JSON.parse(Buffer.from(stamp, 'base64url').toString()).publicKey;
}

/** Calls `change`, which changes a reloaded file, and waits until the log has one of the events. */
export async function reloaded(gateway, change, ...events) {
  const awaited = events.length > 0 ? events : ['reloaded'];
  const before = logged(gateway, ...awaited).length;
  change();
  gateway.child.kill('SIGHUP');
  return (await logLines(gateway, before + 1, ...awaited)).at(-1);
}

/** Replaces members of the config of a running gateway. Resolves when the change is in effect. */
export function reconfigure(gateway, changes) {
  Object.assign(gateway.config, changes);
  return reloaded(gateway, () => putConfig(gateway.configFile, JSON.stringify(gateway.config)));
}
