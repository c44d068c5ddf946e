// The attackers of a round, as a process of their own, which the round ends with a signal. Sends "ready" to its parent;
// receives the place and the parts of the mix; and sends the number of each part whose attack has begun.
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../random.mjs';
import { KINDS } from './kinds.mjs';
import { ATTACKERS } from './parties.mjs';
import { Scene } from './scene.mjs';

// Attackers have machines of their own, so they must not use the CPU that the gateway and the honest parties need here.
setPriority(19);

/** The names of the parties that make this part. */
function namesOf({ kind, party, identity }) {
  if (party !== 'caller') return [party];
  const { identities = 1 } = KINDS[kind];
  return Array.from({ length: identities }, (_, index) => ATTACKERS[(identity + index) % ATTACKERS.length]);
}

process.once('message', ({ place, parts }) => {
  parts.forEach(async (part, number) => {
    await pause(part.delayMs);
    await KINDS[part.kind].begin(new Scene(place, namesOf(part), new Random(part.seed)));
    process.send({ begun: number });
  });
});
process.on('disconnect', () => process.exit());
process.send('ready');
