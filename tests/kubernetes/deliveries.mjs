// Deliveries of webhooks while something else happens.
import { setTimeout as pause } from 'node:timers/promises';
import { deliver } from '../end_to_end/event_stack.mjs';

const INTERVAL_MS = 100;

/** Sends events until the action has ended. Resolves to the results of their deliveries, which upstream repeats. */
export async function deliverDuring(simulator, action) {
  const acting = action();
  let isOver = false;
  const over = acting.finally(() => (isOver = true));
  const deliveries = [];
  while (!isOver) {
    deliveries.push(deliver(simulator));
    await Promise.race([over, pause(INTERVAL_MS)]);
  }
  await acting;
  return Promise.all(deliveries);
}
