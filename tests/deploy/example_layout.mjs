// Lays out the files of a pod of deploy/kubernetes in a folder of a test.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { run } from '../end_to_end/harness.mjs';
import { configText, find, readAll } from './manifests.mjs';

/** Creates under `folder` the files that the pod has, with the config that `edit` returns. Returns the config's path. */
export async function layOut(folder, edit = (text) => text) {
  const objects = readAll();
  const at = (...names) => join(folder, ...names);
  for (const name of ['config', 'keys', 'tls', 'audit', 'webhooks', 'organizations', 'data']) mkdirSync(at(name));
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
  writeFileSync(at('webhooks', 'paths'), `/hooks/${randomBytes(16).toString('hex')}\n`);
  const secrets = [at('keys', 'main.key'), at('keys', 'treasury.key'), at('audit', 'audit.key'), at('tls', 'tls.key')];
  secrets.push(at('webhooks', 'paths'));
  for (const file of secrets) chmodSync(file, 0o440);
  for (const [name, text] of Object.entries(find(objects, 'ConfigMap', 'stampgate-organizations').data)) {
    writeFileSync(at('organizations', name), text);
  }
  const text = edit(configText)
    .replaceAll('/etc/stampgate/', `${folder}/`)
    .replaceAll('/var/lib/stampgate', at('data'));
  writeFileSync(at('config', 'stampgate.yaml'), text);
  return at('config', 'stampgate.yaml');
}
