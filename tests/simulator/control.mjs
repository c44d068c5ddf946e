// What tests tell and ask the simulator, under /_simulator/. README.md beside this file describes it.
import { jsonAnswer } from './answers.mjs';
import { FaultError } from './faults.mjs';

const PREFIX = '/_simulator/';

export const isControl = (path) => path.startsWith(PREFIX);

/**
 * @param {{method: string, url: string, rawBody: Buffer}} given
 * @param {import('./server.mjs').Simulator} simulator
 * @returns {Promise<import('./answers.mjs').Answer>}
 */
export async function control({ method, url, rawBody }, simulator) {
  const { pathname, searchParams } = new URL(url, 'http://simulator.invalid');
  const route = ROUTES[`${method} ${pathname.slice(PREFIX.length)}`];
  if (route === undefined) return problem(404, `there is no ${method} ${pathname}`);
  try {
    return await route(simulator, rawBody.length > 0 ? JSON.parse(rawBody.toString('utf8')) : undefined, searchParams);
  } catch (error) {
    if (error instanceof FaultError || error instanceof SyntaxError) return problem(400, error.message);
    throw error;
  }
}

const problem = (status, error) => jsonAnswer(status, { error });

const ROUTES = {
  'POST faults': (simulator, body) => {
    simulator.addFaults(Array.isArray(body) ? body : body?.faults ?? [body]);
    return jsonAnswer(200, { pending: simulator.pendingFaults() });
  },
  'GET faults': (simulator) => jsonAnswer(200, { pending: simulator.pendingFaults() }),
  'DELETE faults': (simulator) => {
    simulator.clearFaults();
    return jsonAnswer(200, { pending: 0 });
  },
  'GET requests': (simulator) => jsonAnswer(200, { requests: simulator.requests() }),
  'DELETE requests': (simulator) => {
    simulator.clearRequests();
    return jsonAnswer(200, {});
  },
  'GET stats': async (simulator, body, search) => {
    const wanted = ['requests', 'held', 'timeoutMs'].filter((name) => search.has(name));
    const numbers = Object.fromEntries(wanted.map((name) => [name, Number(search.get(name))]));
    const stats = wanted.length > 0 ? await simulator.waitFor(numbers) : simulator.stats();
    return stats === undefined ? problem(504, 'it did not come to that in time') : jsonAnswer(200, stats);
  },
  'POST release': (simulator) => jsonAnswer(200, { released: simulator.release() }),
  'POST settings': (simulator, body) => jsonAnswer(200, simulator.change(body ?? {})),
  'POST reset': (simulator) => {
    simulator.reset();
    return jsonAnswer(200, {});
  },
};
