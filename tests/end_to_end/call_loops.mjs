// Runs call_loop, which calls a gateway without a pause until the gateway ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { binary } from '../paths.mjs';
import { until } from './processes.mjs';

const CONNECTIONS = 2;
const LOOPS_PER_CONNECTION = 8;

/** How many calls ended with this code and this reason. @typedef {{name: string, reason: string, count: number}} Ending */

/**
 * Starts the calls, and resolves when each connection has had a response.
 * @param {{address: string}} gateway
 * @param {{path: string, requestSerialize: (request: object) => Buffer}} method its definition
 * @param {object} request
 * @param {number} [loops] on each of the two connections
 * @returns {Promise<{ended: Promise<Ending[]>}>} `ended` resolves after the gateway has ended
 */
export async function startCalls({ address }, { path, requestSerialize }, request, loops = LOOPS_PER_CONNECTION) {
  const args = [address, path, String(CONNECTIONS), String(loops)];
  const child = spawn(binary('tests/end_to_end/call_loop'), args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(requestSerialize(request));
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  const ended = once(child, 'close').then(([status]) => {
    assert.equal(status, 0, output);
    const [, ...endings] = output.trim().split('\n');
    return endings.map((line) => JSON.parse(line));
  });
  await until(() => output !== '', `calls of ${path} are under way`);
  return { ended };
}

/**
 * The endings of calls that failed. A loop ends with an UNAVAILABLE: with the reason SHUTTING_DOWN, or without details if
 * the connection ended.
 * @param {Ending[]} endings
 */
export function failuresIn(endings) {
  const isLast = ({ name, reason, count }) =>
    name === 'UNAVAILABLE' &&
    (reason === 'SHUTTING_DOWN' || (reason === '' && count <= CONNECTIONS * LOOPS_PER_CONNECTION));
  return endings.filter((ending) => ending.name !== 'OK' && !isLast(ending));
}

/** The number of calls that succeeded. @param {Ending[]} endings */
export const successesIn = (endings) => endings.find(({ name }) => name === 'OK')?.count ?? 0;
