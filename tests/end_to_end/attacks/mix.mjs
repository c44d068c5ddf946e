// Random mixes of attacks. Mixes 0 to 9 have every kind, as have mixes 10 to 19, and so on.
import { Random } from '../random.mjs';
import { GROUPS } from './kinds.mjs';
import { ATTACKERS } from './parties.mjs';

/** The number of attacks of each group in a mix. */
const PARTS = { callers: 4, floods: 2, strangers: 1, senders: 2 };
/** The attacks of a mix begin within this time. */
const SPREAD_MS = 1000;

/**
 * An attack in a mix.
 * @typedef {object} Part
 * @property {string} kind
 * @property {'caller' | 'stranger' | 'nobody' | 'sender'} party who makes it; `sender`: on the webhook port or the admin
 *     port
 * @property {number} identity which caller makes it, or begins
 * @property {number} delayMs
 * @property {string} seed of the attack's own random choices
 */

/** A random order of a list. */
function shuffled(random, list) {
  const rest = [...list];
  return list.map(() => rest.splice(random.below(rest.length), 1)[0]);
}

/** So many mixes in a row have every kind. */
const CYCLE = 10;

/** The kinds of this group in mix `number`. */
function kindsIn(seed, group, number) {
  const order = shuffled(new Random(`${seed} ${group} ${Math.floor(number / CYCLE)}`), Object.keys(GROUPS[group]));
  const begin = (number % CYCLE) * PARTS[group];
  return Array.from({ length: PARTS[group] }, (_, index) => order[(begin + index) % order.length]);
}

/** Who can make a kind of this group. */
const partiesOf = (group, kind) => GROUPS[group][kind].parties ?? [group === 'senders' ? 'sender' : 'caller'];

/** @returns {Part} */
function partOf(random, group, kind, spreadMs = SPREAD_MS) {
  const [party, identity] = [random.pick(partiesOf(group, kind)), random.below(ATTACKERS.length)];
  return { kind, party, identity, delayMs: random.below(spreadMs), seed: random.bytes(8).toString('hex') };
}

/** Mix `number` of this seed. @returns {Part[]} */
export function mixOf(seed, number) {
  const random = new Random(`${seed} mix ${number}`);
  return Object.keys(PARTS).flatMap((group) => kindsIn(seed, group, number).map((kind) => partOf(random, group, kind)));
}

/** A kind alone, by each party that can make it. @returns {Part[][]} */
export function alone(kind) {
  const group = Object.keys(GROUPS).find((name) => kind in GROUPS[name]);
  const part = partOf(new Random(kind), group, kind, 1);
  return partiesOf(group, kind).map((party) => [{ ...part, party }]);
}
