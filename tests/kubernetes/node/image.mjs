// Writes an image as an OCI archive: node image.mjs SOURCE OUT.tar
//
// SOURCE is a static program, which becomes the image's entry point, or a folder, which becomes the image's root. The
// image's name is node.local/NAME:1, with the name of SOURCE. The host part keeps containerd from asking docker.io.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

const [source, out] = process.argv.slice(2);
const name = basename(source);
const isFolder = statSync(source).isDirectory();
const TYPE = 'application/vnd.oci.image';
const folder = mkdtempSync(join(tmpdir(), 'image-'));
const tar = (...args) => execFileSync('tar', ['--owner=0', '--group=0', ...args], { maxBuffer: 1 << 30 });

/** Writes a blob and returns its descriptor. */
function blob(kind, content) {
  const hex = createHash('sha256').update(content).digest('hex');
  writeFileSync(join(folder, 'blobs/sha256', hex), content);
  return { mediaType: `${TYPE}.${kind}`, digest: `sha256:${hex}`, size: content.length };
}
const jsonBlob = (kind, content) => blob(`${kind}+json`, Buffer.from(JSON.stringify(content)));

mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
const content = isFolder ? ['-C', source, '-c', '.'] : ['-C', dirname(source), '-c', name];
const layer = blob('layer.v1.tar', tar('--mode=0555', ...content));
const config = jsonBlob('config.v1', {
  architecture: { arm64: 'arm64', x64: 'amd64' }[process.arch],
  os: 'linux',
  config: isFolder ? {} : { Entrypoint: [`/${name}`] },
  rootfs: { type: 'layers', diff_ids: [layer.digest] },
});
const manifest = jsonBlob('manifest.v1', {
  schemaVersion: 2,
  mediaType: `${TYPE}.manifest.v1+json`,
  config,
  layers: [layer],
});
const annotations = { 'io.containerd.image.name': `node.local/${name}:1` };
const index = { schemaVersion: 2, mediaType: `${TYPE}.index.v1+json`, manifests: [{ ...manifest, annotations }] };
writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
tar('-C', folder, '-cf', out, 'oci-layout', 'index.json', 'blobs');
rmSync(folder, { recursive: true });
