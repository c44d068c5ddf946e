// A rolling upgrade of three gateways with one store on PostgreSQL, step by step, while a sender delivers events, callers
// submit and subscribers read. Between the steps each gateway is stopped, killed or rolled back. Afterwards the judge of
// histories checks what the gateways of both releases have promised. Gateways of the newer release serve a shared
// subscription, which the older release need not know: after each step, a consumer at each of them settles every event.
// The script `rollback` builds the programs and runs this file.
//
//   node tests/upgrade/rolling.mjs OLD_BINARY NEW_BINARY
//
// STAMPGATE_SEED=... chooses which gateways are killed, and who calls which gateway.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { Consumer, subscriptionConfig } from '../end_to_end/consumer.mjs';
import { judge } from '../end_to_end/history/judge.mjs';
import { Random } from '../end_to_end/random.mjs';
import { Scene } from '../end_to_end/shared_log_scene.mjs';

const [older, newer] = process.argv.slice(2).map((path) => resolve(path));
if (newer === undefined) {
  console.error('usage: node tests/upgrade/rolling.mjs OLD_BINARY NEW_BINARY');
  process.exit(2);
}
const OWNER = { user: 'owner' };
const endings = [];
const t = { after: (end) => endings.push(end), diagnostic: (text) => console.log(`  ${text}`) };

/** Runs a command of the store as the owner of the tables. */
async function own(stack, program, command, ...more) {
  const before = stack.program;
  stack.program = program;
  const { status, stdout, stderr } = await stack.command(command, OWNER, ...more);
  stack.program = before;
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Creates the roles, and the tables of the older release. */
async function prepare({ stack, cluster: { primary } }) {
  for (const role of ['owner', 'gateway']) await primary.sql(`CREATE ROLE ${role} LOGIN`);
  await primary.sql('GRANT CREATE ON DATABASE postgres TO owner');
  stack.program = older;
  await own(stack, older, 'migrate', '--grant-to', 'gateway');
}

try {
  console.log('a rolling upgrade with one store on a PostgreSQL server');
  const store = { user: 'gateway', migrate: false };
  const random = new Random(t);
  const scene = await Scene.make(t, random, { gateways: 3, relayed: false, store, prepare, size: 2, confirmations: 1 });
  const { stack, slots, sender } = scene;
  scene.addWanderer();
  scene.addCallers(t);
  const [base, programs] = [stack.more, slots.map(() => older)];
  const subscription = subscriptionConfig({ settle_within: '2s', max_deliveries: 1000, max_unsettled_per_key: 1000 });
  const settled = new Set();

  /** Consumes at a gateway until every event that is acknowledged now is settled. */
  const consume = async ({ up }) => {
    const wanted = [...sender.acknowledged];
    const consumer = await Consumer.start(up);
    while (wanted.some((id) => !settled.has(id))) {
      const { deliveries } = await consumer.message();
      if (deliveries.length === 0) continue;
      const superseded = new Set(await consumer.settle(deliveries));
      for (const { token, event } of deliveries) if (!superseded.has(token)) settled.add(event.event_id);
    }
    await consumer.leave();
  };

  const start = async (index, program) => {
    programs[index] = stack.program = program;
    stack.more = program === newer ? { ...base, ...subscription } : base;
    await slots[index].start();
  };

  /** Makes a step, and waits until every gateway works. */
  const step = async (what, work) => {
    await scene.during(async () => {
      await work();
      await sender.progress();
    });
    await Promise.all([sender.progress(), scene.submits()]);
    for (const index of slots.keys()) if (programs[index] === newer) await consume(slots[index]);
    console.log(`  ${what}: ${sender.acknowledged.length} events, ${settled.size} settled`);
  };
  const replace = (index, program) =>
    step(`gateway ${index} is of the ${program === newer ? 'newer' : 'older'} release`, async () => {
      await (random.below(2) === 0 ? slots[index].stop() : slots[index].kill());
      await start(index, program);
    });

  await step('all gateways are of the older release', () => {});
  const hasSeals = /^every new event must have a seal$/m.test(await own(stack, older, 'check'));
  await step('store migrate', () => own(stack, newer, 'migrate', '--grant-to', 'gateway'));
  await replace(0, newer);
  await step('store set', () => own(stack, newer, 'set'));
  await replace(1, newer);
  await replace(0, older);
  // The job of the older release's manifests runs again.
  await step('store migrate of the older release', async () => {
    await own(stack, older, 'migrate', '--grant-to', 'gateway');
    await own(stack, older, 'check');
  });
  await step('store migrate, once more', () => own(stack, newer, 'migrate', '--grant-to', 'gateway'));
  await replace(0, newer);
  await replace(2, newer);
  await replace(2, older);
  // A mistake of the operator: gateway 2 still runs. It may do nothing more, and the others continue.
  const seal = async () => {
    assert.match(await own(stack, newer, 'check'), /^[1-9][0-9]* events have no seal$/m);
    await own(stack, newer, 'seal');
    await sender.progress();
    await slots[2].answers(503);
    await slots[2].kill();
    stack.program = older;
    stack.more = base;
    assert.match(await stack.startFault(), /tables have version 3/);
    await start(2, newer);
  };
  await (hasSeals ? replace(2, newer) : step('store seal', seal));
  const unsealed = hasSeals ? '0' : '[1-9][0-9]*';
  assert.match(
    await own(stack, newer, 'check'),
    new RegExp(`^every new event must have a seal\n${unsealed} events have no seal$`, 'm'),
  );
  await step('all gateways are of the newer release', () => {});

  const history = await scene.end();
  assert.deepEqual(judge(history), []);
  const { attempts, log } = history;
  console.log(`  ${log.length} events, ${attempts.length} submits, deliveries: ${JSON.stringify(sender.answers)}`);
} finally {
  for (const end of endings) await end();
}
