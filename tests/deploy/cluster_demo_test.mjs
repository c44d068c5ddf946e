// Tests of deploy/cluster_demo.mjs, which deploy/cluster-demo runs after the build.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { HANG_MS, run } from '../end_to_end/harness.mjs';
import { root } from '../paths.mjs';

test(
  'an event and a submit survive the death of a gateway, of the primary and of a standby',
  { timeout: HANG_MS },
  async () => {
    const { status, stdout, stderr } = await run([join(root, 'deploy/cluster_demo.mjs'), '--once'], {
      command: process.execPath,
    });
    assert.equal(status, 0, stderr + stdout);
    for (const fault of ['A gateway dies', 'The primary dies, and a standby takes over', 'A standby dies']) {
      assert.ok(stdout.includes(`== ${fault}`), fault);
    }
    assert.equal(stdout.match(/^ {2}gateway-\d acknowledged event-\d at attempt \d+$/gm).length, 4);
    assert.equal(stdout.match(/^ {2}gateway-\d carried out submit \d: activity /gm).length, 4);
    assert.match(stdout, /== Nothing was lost, and nothing was done twice/);
  },
);
