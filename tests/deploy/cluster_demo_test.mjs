// Tests of deploy/cluster_demo.mjs, which deploy/cluster-demo runs after the build.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { HANG_MS, run } from '../end_to_end/harness.mjs';
import { root } from '../paths.mjs';

test(
  'events and submits survive the death of a consumer, of a gateway, of the primary and of a standby',
  { timeout: 2 * HANG_MS },
  async () => {
    const { status, stdout, stderr } = await run([join(root, 'deploy/cluster_demo.mjs'), '--once'], {
      command: process.execPath,
    });
    assert.equal(status, 0, stderr + stdout);
    for (const fault of ['A consumer dies', 'A gateway dies', 'The primary dies, and a standby takes over']) {
      assert.ok(stdout.includes(`== ${fault}`), fault);
    }
    assert.ok(stdout.includes('== A standby dies'));
    const acknowledged = stdout.match(/^ {2}gateway-\d acknowledged event-\d at attempt \d+$/gm).length;
    assert.ok(acknowledged >= 5, stdout);
    const [, events, times] = [...stdout.matchAll(/have handled (\d+) events, (\d+) times in all/g)].at(-1);
    assert.equal(Number(events), acknowledged);
    assert.ok(Number(times) > Number(events), 'the consumer that died had handled an event, and not settled it');
    assert.equal(stdout.match(/^ {2}gateway-\d carried out submit \d: activity /gm).length, 4);
    assert.match(stdout, /== Nothing was lost, and nothing was done twice/);
  },
);
