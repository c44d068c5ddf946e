// Starts a simulator and a gateway with an event log. Tests can end the gateway in any way and start it again with the
// same log.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { startSimulator } from '../simulator/server.mjs';
import { Gateway, eventsConfig, plainConfig, scratch } from './harness.mjs';

/**
 * Starts a simulator that sends the events of all organizations to the running gateway, and makes a config for
 * gateways. Starts no gateway. Everything ends with the test `t`.
 * @param {object} t
 * @param {object} [options]
 * @param {object} [options.simulator] for startSimulator()
 * @param {object} [options.events] for eventsConfig()
 * @param {object} [options.webhooks] for eventsConfig()
 * @param {object} [options.config] merged over the config at its top level
 * @param {object} [options.env] merged over the environment of gateways
 * @param {string} [options.folder] for the store and the config
 */
export async function prepareEventStack(t, options = {}) {
  const { simulator: simulatorOptions, events, webhooks, config, env, folder = scratch(t) } = options;
  const simulator = await startSimulator(simulatorOptions);
  const stack = {
    folder,
    simulator,
    file: join(folder, 'events.db'),
    config: {
      ...plainConfig(simulator, folder),
      ...eventsConfig(folder, { events, webhooks }),
      ...config,
    },

    /** Starts a gateway, which becomes `gateway`. Deliveries in progress are sent to it. */
    async start() {
      stack.gateway = await Gateway.start(stack.config, { folder, env });
      if (stack.gateway.webhookUrl) simulator.webhooks.setEndpoints(null, [stack.gateway.webhookUrl]);
      return stack.gateway;
    },

    async restart(signal) {
      await stack.gateway.stop(signal);
      return stack.start();
    },
  };
  t.after(async () => {
    const ending = await stack.gateway?.stop();
    await simulator.close();
    if (ending && ending.signal !== 'SIGKILL') assert.equal(ending.status, 0, stack.gateway.output);
  });
  return stack;
}

/** Does the same as prepareEventStack, and starts a gateway. */
export async function startEventStack(t, options) {
  const stack = await prepareEventStack(t, options);
  await stack.start();
  return stack;
}

/**
 * Sends an event. Resolves to the result of its delivery: `eventId`, `body` and `state`, and `status`, `error` and
 * `headers` of the last attempt.
 * @param {object} simulator
 * @param {object} [event] for the method of the simulator's webhooks that `method` names
 */
export async function deliver({ webhooks }, event, method = 'send') {
  const [record] = await webhooks[method](event).done;
  const { status, error, headers } = record.attempts.at(-1);
  return { ...record, status, error, headers };
}
