// The gateway accepts the config of deploy/kubernetes/example, and grants each of the three callers its methods.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { layOut } from './example_layout.mjs';

describe("the example's config", { timeout: HANG_MS }, () => {
  it('passes `stampgate check`', async (t) => {
    const config = await layOut(scratch(t));
    const { status, stderr } = await run(['check', '--config', config]);
    assert.deepEqual([status, stderr], [0, '']);
  });

  it('fails `stampgate check` without the secret of the webhook path', async (t) => {
    const folder = scratch(t);
    const config = await layOut(folder);
    rmSync(join(folder, 'webhooks/paths'));
    const { status, stderr } = await run(['check', '--config', config]);
    assert.equal(status, 1);
    assert.match(stderr, /webhooks\.paths_file: it cannot be opened/);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  });

  it('grants each team its own methods and no others', async (t) => {
    const config = await layOut(scratch(t));
    const said = {};
    for (const caller of ['payments', 'support', 'login']) {
      const { status, stdout, stderr } = await run(['check', '--config', config, '--as', caller]);
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stdout, /would gain/);
      said[caller] = stdout;
    }
    assert.match(said.payments, / EarnService\/EarnWithdraw /);
    assert.match(said.login, / AuthenticationService\/StampLogin /);
    for (const name of ['ListWalletAccounts', 'ListWallets'])
      assert.match(said.support, RegExp(` WalletService/${name} `));
    for (const caller of ['support', 'login']) assert.doesNotMatch(said[caller], / EarnService\/EarnWithdraw /);
    for (const caller of ['payments', 'support']) assert.doesNotMatch(said[caller], /StampLogin/);
    for (const text of Object.values(said)) assert.doesNotMatch(text, /ExportWalletAccount|CreatePolicies/);
  });
});
