// Checks all metrics of the gateway with Prometheus's own rules. Skipped if the machine has no Go or cannot get the Go
// modules of the checker.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { join } from 'node:path';
import { root } from '../paths.mjs';
import { ADMIN, ask } from './admin_port.mjs';
import { HANG_MS, auditConfig, run, scratch, startStack } from './harness.mjs';
import { QUERY, SUBMIT } from './failures.mjs';
import { Subscriber } from './subscriber.mjs';

/** Builds the checker, which takes half a minute if Go's cache is empty. */
function build(folder) {
  const command = join(folder, 'promlint');
  const built = spawnSync('go', ['build', '-mod=readonly', '-o', command, '.'], {
    cwd: join(root, 'tests/promlint'),
    encoding: 'utf8',
    timeout: 10 * HANG_MS,
  });
  return built.status === 0 ? { command } : { skip: `no checker: ${built.error ?? built.stderr}` };
}

const { command, skip } = build(scratch({ after }));
const check = (text) => run([], { command, input: text });

describe("Prometheus's rules for metrics", { timeout: HANG_MS, skip }, () => {
  it('apply to all metrics of a gateway, which break none', async (t) => {
    const audit = await auditConfig(scratch(t));
    const { gateway } = await startStack(t, { config: { admin: ADMIN, audit }, events: true });
    await gateway.call(SUBMIT.method, SUBMIT.request);
    await gateway.call(QUERY.method, QUERY.request);
    await gateway.refusal(QUERY.method, {});
    const subscriber = await Subscriber.start(gateway);
    const { body } = await ask(gateway.adminUrl, '/metrics');
    await subscriber.leave();
    const { status, stderr } = await check(body);
    assert.equal(status, 0, stderr);
  });

  it('are really checked: a metric that breaks a rule is reported', async () => {
    const good = '# HELP a_total Help.\n# TYPE a_total counter\na_total 1\n';
    assert.equal((await check(good)).status, 0);
    assert.equal((await check(good.replaceAll('a_total', 'a'))).status, 3);
    assert.equal((await check(good.replace('a_total 1', 'a_total'))).status, 1);
  });
});
