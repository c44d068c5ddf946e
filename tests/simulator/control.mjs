// The control interface for tests, under /_simulator/. README.md in this folder describes it.
import { jsonAnswer } from './answers.mjs';
import { FaultError } from './fault_list.mjs';
import { webhookRoutes } from './webhook_control.mjs';

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
    const body = rawBody.length > 0 ? JSON.parse(rawBody.toString('utf8')) : undefined;
    const value = await route(simulator, body, Object.fromEntries(searchParams));
    return value === undefined ? problem(504, 'the condition was not met in time') : jsonAnswer(200, value);
  } catch (error) {
    if (error instanceof FaultError || error instanceof SyntaxError) return problem(400, error.message);
    throw error;
  }
}

const problem = (status, error) => jsonAnswer(status, { error });

/**
 * The routes that exist both for requests and for webhooks.
 * @param {string} prefix the beginning of the paths
 * @param {(simulator: import('./server.mjs').Simulator) => object} partOf returns the object that serves the routes
 */
function commonRoutes(prefix, partOf) {
  const routes = {
    'POST faults': (part, body) => {
      part.addFaults(Array.isArray(body) ? body : (body?.faults ?? [body]));
      return { pending: part.pendingFaults() };
    },
    'GET faults': (part) => ({ pending: part.pendingFaults() }),
    'DELETE faults': (part) => {
      part.clearFaults();
      return { pending: 0 };
    },
    'GET stats': (part, body, query) => {
      const wanted = Object.entries(query).map(([name, number]) => [name, Number(number)]);
      return wanted.length > 0 ? part.waitFor(Object.fromEntries(wanted)) : part.stats();
    },
    'POST release': (part) => ({ released: part.release() }),
    'POST settings': (part, body) => part.change(body ?? {}),
  };
  return Object.fromEntries(
    Object.entries(routes).map(([name, route]) => [
      name.replace(' ', ` ${prefix}`),
      (simulator, body, query) => route(partOf(simulator), body, query),
    ]),
  );
}

/** The routes. A route's result becomes the response; if it is undefined, the response is 504. */
const ROUTES = {
  ...commonRoutes('', (simulator) => simulator),
  'GET requests': (simulator) => ({ requests: simulator.requests() }),
  'DELETE requests': (simulator) => {
    simulator.clearRequests();
    return {};
  },
  'POST activities': (simulator, { activityId, ...how }) => ({ activity: simulator.endActivity(activityId, how) }),
  'POST reset': (simulator) => {
    simulator.reset();
    return {};
  },
  ...commonRoutes('webhooks/', ({ webhooks }) => webhooks),
  ...webhookRoutes,
};
