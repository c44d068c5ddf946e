// Every manifest is valid against Kubernetes's own schemas, of the oldest supported release and of the newest.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { folder, kustomizations, manifestFiles, parse, readAll } from './manifests.mjs';
import { validate } from './packages.mjs';

const OLDEST = '1.30'; // the first release with the preStop action `sleep`
const NEWEST = '1.37';

const scratch = mkdtempSync(join(tmpdir(), 'stampgate-deploy-'));
after(() => rmSync(scratch, { recursive: true }));

const run = promisify(execFile);
// `true`, or the reason for skipping a test.
const kubectl = await run('kubectl', ['kustomize', '--help']).then(
  () => true,
  () => 'there is no kubectl here',
);

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
    it(`are valid against the schemas of Kubernetes ${release}`, async () => {
      const { status, output } = await validate(release, manifestFiles);
      assert.equal(status, 0, output);
      assert.equal(output.match(/ passed for resource /g).length, readAll().length, output);
    });
  }

  const file = 'base/stateful_set.yaml';
  it('are invalid with a misspelt member', () =>
    checkRefused(NEWEST, file, 'readOnlyRootFilesystem', 'readonlyRootFilesystem', /readonlyRootFilesystem/));
  it('are invalid with a value of the wrong type', () =>
    checkRefused(NEWEST, file, 'replicas: 1', 'replicas: one', /one/));
  it('are invalid with a member in the wrong place', () =>
    checkRefused(NEWEST, 'base/services.yaml', 'type: ClusterIP', 'automountServiceAccountToken: false', /automount/));
  it('are invalid for a Kubernetes without the preStop sleep', () => checkRefused('1.28', file, '', '', /sleep/));

  it('are exactly the files that the kustomizations name', () => {
    for (const { name, files, resources } of kustomizations) {
      const own = files.filter((each) => each !== 'kustomization.yaml');
      assert.deepEqual(resources.filter((each) => !each.startsWith('../')).sort(), own, name);
    }
    assert.ok(kustomizations.find(({ name }) => name === 'example').resources.includes('../base'));
  });

  it('are also valid after kubectl has rendered them', { skip: kubectl === true ? false : kubectl }, async () => {
    // Copies the files, because Bazel's runfiles are links, and kubectl follows no link out of the folder.
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
