// All kinds of attacks, by the group of parties that makes them.
import { CALLER_KINDS } from './caller_kinds.mjs';
import { FLOODS, randomFrame } from './frame_floods.mjs';
import { SENDER_KINDS } from './sender_kinds.mjs';
import { STRANGER_KINDS } from './stranger_kinds.mjs';

/**
 * A kind of attack.
 * @typedef {object} Kind
 * @property {string} holds what it makes the gateway hold
 * @property {('caller' | 'stranger' | 'nobody')[]} [parties] who can make it on the gRPC port; default: a
 *     caller
 * @property {number} [identities] the number of callers that make it together; default: 1
 * @property {(scene: import('./scene.mjs').Scene) => Promise<unknown>} begin resolves when the gateway holds it all, or
 *     has refused it. Whatever is open then stays open until the scene ends
 */

const PARTIES = ['caller', 'stranger', 'nobody'];

const flood = ({ name, title, run, identities }) => [
  name,
  { holds: title, parties: PARTIES, identities, begin: (scene) => run((index) => scene.open(index)) },
];

const randomFrames = {
  holds: '100 connections with random frames',
  parties: PARTIES,
  async begin(scene) {
    for (let count = 0; count < 100; ++count) {
      const frames = Array.from({ length: 1 + scene.random.below(40) }, () => randomFrame(scene.random));
      const attacker = await scene.open();
      await attacker.send(Buffer.concat(frames));
    }
  },
};

/** @type {Record<string, Record<string, Kind>>} */
export const GROUPS = {
  callers: CALLER_KINDS,
  floods: { ...Object.fromEntries(FLOODS.map(flood)), randomFrames },
  strangers: STRANGER_KINDS,
  senders: SENDER_KINDS,
};

/** Every kind by its name. @type {Record<string, Kind>} */
export const KINDS = Object.assign({}, ...Object.values(GROUPS));
