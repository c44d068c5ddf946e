// Every manifest fits Kubernetes's own schemas, strictly, of the oldest release that it is for and of the newest.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { folder, kustomizations, manifestFiles, parse, readAll } from './manifests.mjs';
import { validate } from './packages.mjs';

const OLDEST = '1.30'; // the first with the preStop sleep
const NEWEST = '1.37';

const scratch = mkdtempSync(join(tmpdir(), 'stampgate-deploy-'));
after(() => rmSync(scratch, { recursive: true }));

const run = promisify(execFile);
// `true` or the words that a skipped test says.
const kubectl = await run('kubectl', ['kustomize', '--help']).then(() => true, () => 'there is no kubectl here');

async function checkRefused(release, file, from, to, reason) {
  const text = readFileSync(join(folder, file), 'utf8');
  assert.ok(text.includes(from));
  const broken = join(scratch, 'broken.yaml');
  writeFileSync(broken, text.replace(from, to));
  const { status, output } = await validate(release, [broken]);
  assert.notEqual(status, 0, output);
  assert.match(output, reason);
}

describe('the manifests', () => {
  for (const release of [OLDEST, NEWEST]) {
    it(`fit the schemas of Kubernetes ${release}`, async () => {
      const { status, output } = await validate(release, manifestFiles);
      assert.equal(status, 0, output);
      assert.equal(output.match(/ passed for resource /g).length, readAll().length, output);
    });
  }

  const file = 'base/stateful_set.yaml';
  it('are refused with a misspelt member', () =>
    checkRefused(NEWEST, file, 'readOnlyRootFilesystem', 'readonlyRootFilesystem', /readonlyRootFilesystem/));
  it('are refused with a value of the wrong type', () =>
    checkRefused(NEWEST, file, 'replicas: 1', 'replicas: one', /one/));
  it('are refused with a member in the wrong place', () =>
    checkRefused(NEWEST, 'base/services.yaml', 'type: ClusterIP', 'automountServiceAccountToken: false', /automount/));
  it('are refused by a Kubernetes that cannot sleep', () => checkRefused('1.28', file, '', '', /sleep/));

  it('are all named by a kustomization, which names nothing else', () => {
    for (const { name, files, resources } of kustomizations) {
      const own = files.filter((each) => each !== 'kustomization.yaml');
      assert.deepEqual(resources.filter((each) => !each.startsWith('../')).sort(), own, name);
    }
    assert.ok(kustomizations.find(({ name }) => name === 'example').resources.includes('../base'));
  });

  it('are rendered by kubectl into what fits too', { skip: kubectl === true ? false : kubectl }, async () => {
    // kubectl follows no link out of the folder; the runfiles are links.
    const copy = join(scratch, 'kubernetes');
    cpSync(folder, copy, { recursive: true, dereference: true });
    const { stdout } = await run('kubectl', ['kustomize', join(copy, 'example')]);
    const rendered = join(scratch, 'rendered.yaml');
    writeFileSync(rendered, stdout);
    const { status, output } = await validate(NEWEST, [rendered]);
    assert.equal(status, 0, output);
    const names = (objects) => objects.map((each) => `${each.kind}/${each.metadata.name}`).sort();
    assert.deepEqual(names(parse(stdout)), names(readAll()));
    assert.doesNotMatch(stdout, /image: stampgate:/, "the overlay's image is not in it");
  });
});
