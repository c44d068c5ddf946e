// Tests the archives of a release: what they contain, and that their content works outside of this tree.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { run, scratch } from '../end_to_end/harness.mjs';
import { binary, installed, root } from '../paths.mjs';
import { USER, collectTree } from './image_tree.mjs';
import { IMAGE, VERSION, archiveOf, makeRelease, release, unpacked } from './release_archives.mjs';

const GATEWAY = binary('gateway/stampgate');

const list = (archive) => execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');

/** Returns the paths of all files below a folder, relative to the folder. */
const filesIn = (folder) =>
  execFileSync('find', ['-L', '.', '-type', 'f', '-printf', '%P\n'], { cwd: folder, encoding: 'utf8' })
    .trim()
    .split('\n')
    .sort();

describe('a release', () => {
  const folder = makeRelease({ after });
  const image = join(folder, archiveOf(IMAGE));

  it('has the checksums of its archives', () => {
    assert.deepEqual(readdirSync(folder).sort(), [
      'SHA256SUMS',
      ...['api', 'kubernetes', IMAGE, 'operations'].map(archiveOf),
    ]);
    const check = () =>
      spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
    assert.equal(check().status, 0);
    assert.equal(check().stdout.match(/: OK$/gm).length, 4);
  });

  it('has the same bytes when it is made again', () => {
    const again = makeRelease({ after });
    assert.equal(readFileSync(join(again, 'SHA256SUMS'), 'utf8'), readFileSync(join(folder, 'SHA256SUMS'), 'utf8'));
  });

  it("has the image's files; root owns all except the gateway's own folder", () => {
    const tree = collectTree({ after });
    const paths = execFileSync('find', ['.'], { cwd: tree, encoding: 'utf8' }).trim().split('\n').sort();
    assert.deepEqual(
      list(image)
        .map((path) => path.replace(/(?<=.)\/$/, ''))
        .sort(),
      paths,
    );
    const lines = execFileSync('tar', ['--numeric-owner', '-tvzf', image], { encoding: 'utf8' }).trim().split('\n');
    const owned = lines.filter((line) => !/^\S+ 0\/0 /.test(line));
    assert.equal(owned.length, 1);
    assert.match(owned[0], new RegExp(`^drwx------ ${USER}/${USER} .* \\./var/lib/stampgate/$`));
  });

  it('has the very protos of this tree, and code can be generated from them alone', () => {
    const api = unpacked({ after }, folder, 'api');
    const protos = filesIn(api).filter((file) => file.endsWith('.proto'));
    assert.ok(protos.length > 20);
    assert.deepEqual(
      protos,
      filesIn(join(root, 'proto')).filter((file) => file.endsWith('.proto')),
    );
    for (const file of protos) {
      assert.equal(readFileSync(join(api, file), 'utf8'), readFileSync(join(root, 'proto', file), 'utf8'), file);
    }
    const generated = join(scratch({ after }), 'generated');
    mkdirSync(generated);
    execFileSync('/usr/bin/python3', ['-m', 'grpc_tools.protoc', '-I', api, `--python_out=${generated}`, ...protos], {
      cwd: api,
      env: { ...process.env, PYTHONPATH: installed('readme-python', 'tests/readme/requirements.txt') },
    });
    assert.equal(filesIn(generated).length, protos.length);
  });

  it('has the very manifests of this tree', () => {
    const manifests = unpacked({ after }, folder, 'kubernetes');
    const here = join(root, 'deploy/kubernetes');
    assert.deepEqual(filesIn(manifests), ['LICENSE', ...filesIn(here)].sort());
    for (const file of filesIn(here)) {
      assert.equal(readFileSync(join(manifests, file), 'utf8'), readFileSync(join(here, file), 'utf8'), file);
    }
  });

  it('has its operations, and the very generator, tables and protos of this tree, without tests', () => {
    const operations = unpacked({ after }, folder, 'operations');
    const files = filesIn(operations);
    const own = ['LICENSE', 'README.md', 'operations.binpb'];
    for (const file of [...own, 'generator/update', 'generator/lock.json', 'reviewed/fields.yaml', 'buf.yaml'])
      assert.ok(files.includes(file), file);
    for (const file of files.filter((each) => !own.includes(each))) {
      assert.doesNotMatch(file, /_test\.mjs$|pinned/);
      assert.ok(readFileSync(join(operations, file)).equals(readFileSync(join(root, 'proto', file))), file);
    }
    const exported = execFileSync(GATEWAY, ['operations', 'export'], { maxBuffer: 2 ** 28 });
    assert.ok(readFileSync(join(operations, 'operations.binpb')).equals(exported));
  });
});

test('the program has the version of the latest release, or the next one with -dev', async () => {
  const version = (await run(['--version'])).stdout.trim().replace('stampgate ', '');
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m).slice(1);
  const latest = sections.find((section) => /^[0-9]/.test(section));
  const [, released] = /^([0-9.]+) \([0-9-]{10}\)\n/.exec(latest);
  const [, next] = /^([0-9.]+)-dev$/.exec(version) ?? [];
  const isNext = next?.localeCompare(released, 'en', { numeric: true }) > 0;
  assert.ok(version === released || isNext, `${version} after ${released}`);
  assert.ok(isNext || latest === sections[0], 'a release has no unreleased changes');
  for (const section of sections) {
    const kinds = [...section.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind);
    assert.deepEqual(
      kinds,
      ['Added', 'Changed', 'Fixed', 'Removed'].filter((kind) => kinds.includes(kind)),
    );
  }
  for (const path of [`proto/releases/${released}.binpb`, `tests/upgrade/releases/${released}/recording.json`]) {
    assert.ok(existsSync(join(root, path)), path);
  }
});

describe('no release is made', () => {
  for (const [title, args, message] of [
    ['without a binary', (folder) => [join(folder, 'none'), VERSION, join(folder, 'new')], /there is no .*none/],
    ['with a version that is none', (folder) => [GATEWAY, 'v1', join(folder, 'new')], /'v1' is not a version/],
    ['in a folder that is not empty', (folder) => [GATEWAY, VERSION, folder], /is not empty/],
  ]) {
    it(title, () => {
      const folder = scratch({ after });
      writeFileSync(join(folder, 'file'), '');
      const { status, stderr } = release(...args(folder));
      assert.equal(status, 1);
      assert.match(stderr, message);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name !== 'new'),
        ['file'],
      );
    });
  }

  it('without its three arguments, and it prints how to call it', () => {
    const { status, stdout } = release(GATEWAY, VERSION);
    assert.equal(status, 2);
    assert.match(stdout, /deploy\/release BINARY VERSION FOLDER/);
  });
});
