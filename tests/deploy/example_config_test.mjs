// The gateway accepts the config of deploy/kubernetes/example after the webhook path is filled in, and grants each of
// the three callers its methods.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { configTextOf, find, readAll } from './manifests.mjs';

const PLACEHOLDER = '{openssl rand -hex 16}';

/** Creates under `folder` the files that the pod has. Returns the path of the config. */
async function layOut(folder, edit = (text) => text.replace(PLACEHOLDER, '0123456789abcdef0123456789abcdef')) {
  const objects = readAll();
  const at = (...names) => join(folder, ...names);
  for (const name of ['config', 'keys', 'tls', 'audit', 'organizations', 'data']) mkdirSync(at(name));
  for (const name of ['main', 'treasury']) {
    const { status, stderr } = await run(['keygen', '--curve', 'p256', '--out', at('keys', `${name}.key`)]);
    assert.equal(status, 0, stderr);
  }
  const authority = makeAuthority(folder, 'callers');
  const { cert, key } = authority.issue({ name: 'DNS:stampgate.stampgate.svc' });
  writeFileSync(at('tls', 'tls.crt'), cert);
  writeFileSync(at('tls', 'tls.key'), key, { mode: 0o400 });
  writeFileSync(at('tls', 'ca.crt'), authority.issue().cert);
  writeFileSync(at('audit', 'audit.key'), `${randomBytes(32).toString('hex')}\n`);
  const secrets = [at('keys', 'main.key'), at('keys', 'treasury.key'), at('audit', 'audit.key'), at('tls', 'tls.key')];
  for (const file of secrets) chmodSync(file, 0o440);
  for (const [name, text] of Object.entries(find(objects, 'ConfigMap', 'stampgate-organizations').data)) {
    writeFileSync(at('organizations', name), text);
  }
  const text = edit(configTextOf(objects))
    .replaceAll('/etc/stampgate/', `${folder}/`)
    .replaceAll('/var/lib/stampgate', at('data'));
  writeFileSync(at('config', 'stampgate.yaml'), text);
  return at('config', 'stampgate.yaml');
}

describe("the example's config", { timeout: HANG_MS }, () => {
  it('passes `stampgate check`', async (t) => {
    const config = await layOut(scratch(t));
    const { status, stderr } = await run(['check', '--config', config]);
    assert.equal(status, 0, stderr);
  });

  it('fails `stampgate check` until the webhook path is filled in', async (t) => {
    const config = await layOut(scratch(t), (text) => text);
    const { status, stderr } = await run(['check', '--config', config]);
    assert.equal(status, 1);
    assert.match(stderr, /webhooks\.paths\[0\]/);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  });

  it('grants each team its own methods and no others', async (t) => {
    const config = await layOut(scratch(t));
    const said = {};
    for (const caller of ['payments', 'support', 'login']) {
      const { status, stdout, stderr } = await run(['check', '--config', config, '--as', caller]);
      assert.equal(status, 0, stderr);
      said[caller] = stdout;
    }
    assert.match(said.payments, /EarnWithdraw/);
    assert.match(said.login, /StampLogin/);
    assert.match(said.support, /ListWalletAccounts/);
    for (const caller of ['support', 'login']) assert.doesNotMatch(said[caller], /EarnWithdraw/);
    for (const caller of ['payments', 'support']) assert.doesNotMatch(said[caller], /StampLogin/);
    for (const text of Object.values(said)) assert.doesNotMatch(text, /ExportWalletAccount|CreatePolicies/);
  });
});
