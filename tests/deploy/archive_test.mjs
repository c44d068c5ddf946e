// Tests the image's OCI archive: a container runtime that reads it runs what the Dockerfile describes.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { scratch } from '../end_to_end/harness.mjs';
import { binary, wholeTree } from '../paths.mjs';
import { collectTree } from './image_tree.mjs';

const ARCHIVE = join(wholeTree(), 'deploy/image/archive');
const GATEWAY = binary('gateway/stampgate');

/** Makes the archive, and returns its path and the digest that the command prints. */
function makeArchive(t) {
  const file = join(scratch(t), 'image.tar');
  const digest = execFileSync(ARCHIVE, [file, GATEWAY], { encoding: 'utf8' }).trim();
  return { file, digest };
}

const sha256 = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('the OCI archive', () => {
  const { file, digest } = makeArchive({ after });
  const layout = scratch({ after });
  execFileSync('tar', ['-xf', file, '-C', layout]);
  const readJson = (path) => JSON.parse(readFileSync(join(layout, path), 'utf8'));
  const { manifests: entries } = readJson('index.json');
  const [named] = entries;

  /** The bytes of a blob. Fails unless its descriptor is right. */
  function blob(descriptor) {
    const bytes = readFileSync(join(layout, 'blobs', descriptor.digest.replace(':', '/')));
    assert.equal(sha256(bytes), descriptor.digest);
    assert.equal(bytes.length, descriptor.size);
    return bytes;
  }
  const jsonBlob = (descriptor) => JSON.parse(blob(descriptor).toString());
  const [image, attached] = jsonBlob(named).manifests;
  const manifest = jsonBlob(image);
  const config = jsonBlob(manifest.config);

  it('has one image, and nothing that it does not refer to', () => {
    assert.deepEqual(readJson('oci-layout'), { imageLayoutVersion: '1.0.0' });
    assert.equal(entries.length, 1);
    assert.equal(jsonBlob(named).manifests.length, 2);
    const reference = jsonBlob(attached);
    const used = [named, image, attached, manifest.config, ...manifest.layers, reference.config, ...reference.layers];
    assert.deepEqual(
      readdirSync(join(layout, 'blobs/sha256')).sort(),
      used.map((each) => each.digest.replace('sha256:', '')).sort(),
    );
    used.forEach(blob);
  });

  it('has the name of the image, and the digest that the command prints', () => {
    const version = execFileSync(GATEWAY, ['--version'], { encoding: 'utf8' }).trim().replace('stampgate ', '');
    assert.equal(named.digest, digest);
    assert.equal(named.annotations['org.opencontainers.image.ref.name'], version);
    assert.equal(named.annotations['io.containerd.image.name'], `docker.io/library/stampgate:${version}`);
    assert.equal(config.config.Labels['org.opencontainers.image.version'], version);
  });

  it("runs the gateway as the Dockerfile's image does", () => {
    const text = readFileSync(join(wholeTree(), 'deploy/image/Dockerfile'), 'utf8');
    const platform = { architecture: 'amd64', os: 'linux' };
    assert.deepEqual(image.platform, platform);
    assert.deepEqual([config.architecture, config.os], Object.values(platform));
    const { User, Entrypoint, Cmd, StopSignal, ExposedPorts, Labels } = config.config;
    for (const line of [
      `USER ${User}`,
      `ENTRYPOINT ${JSON.stringify(Entrypoint)}`,
      `CMD [${Cmd.map((each) => JSON.stringify(each)).join(', ')}]`,
      `STOPSIGNAL ${StopSignal}`,
      `EXPOSE ${Object.keys(ExposedPorts)
        .map((port) => port.replace('/tcp', ''))
        .join(' ')}`,
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line);
    }
    assert.equal(Object.keys(Labels).length, 4);
  });

  it('has two layers, whose files are those of the image; the second one has only the gateway', (t) => {
    const layers = manifest.layers.map((each) => gunzipSync(blob(each)));
    assert.deepEqual(config.rootfs, { type: 'layers', diff_ids: layers.map(sha256) });
    const root = join(scratch(t), 'root');
    mkdirSync(root);
    for (const input of layers) execFileSync('tar', ['--same-owner', '-xpf', '-', '-C', root], { input });
    const list = execFileSync('tar', ['-tf', '-'], { input: layers[1], encoding: 'utf8' });
    const tree = collectTree(t);
    const shapeOf = (folder) =>
      execFileSync('find', ['.', '-printf', '%p %y %m %U:%G %l\n'], { cwd: folder, encoding: 'utf8' })
        .split('\n')
        .sort();
    const shapes = [root, tree].map(shapeOf);
    const { status } = spawnSync('diff', ['--recursive', '--no-dereference', tree, root]);
    execFileSync('chmod', ['-R', 'u+w', root]); // so that a user other than root can remove it
    assert.equal(list, './stampgate\n');
    assert.equal(status, 0);
    // Without root's rights, tar cannot give the files their owners.
    if (process.getuid() === 0) assert.deepEqual(shapes[0], shapes[1]);
  });

  it('has the list of its software, attached to the image', (t) => {
    assert.equal(attached.annotations['vnd.docker.reference.digest'], image.digest);
    assert.deepEqual(attached.platform, { architecture: 'unknown', os: 'unknown' });
    const { layers } = jsonBlob(attached);
    const { subject, predicateType, predicate } = jsonBlob(layers[0]);
    assert.equal(predicateType, 'https://spdx.dev/Document');
    assert.deepEqual(
      subject.map((each) => `sha256:${each.digest.sha256}`),
      [image.digest],
    );
    const inside = readFileSync(join(collectTree(t), 'usr/share/stampgate/sbom.spdx.json'), 'utf8');
    assert.deepEqual(predicate, JSON.parse(inside));
  });

  it('has the same bytes when it is made again', (t) => {
    assert.ok(readFileSync(makeArchive(t).file).equals(readFileSync(file)));
  });
});

describe('no OCI archive is written', () => {
  it('without a path, and the command prints how to call it', () => {
    const { status, stdout } = spawnSync(ARCHIVE, [], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stdout, /deploy\/image\/archive OUT\.tar {2}/);
  });

  it('of a program that is not built with the package root', () => {
    const file = join(scratch({ after }), 'image.tar');
    const { status, stderr } = spawnSync(ARCHIVE, [file, '/bin/true'], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /is not built with the package root/);
    assert.equal(existsSync(file), false);
  });
});
