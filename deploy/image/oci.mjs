// Writes an image as an OCI layout, and prints its digest: node oci.mjs VERSION SBOM FOLDER LAYER.tar...
//
// FOLDER is created. The image's settings are those of the last stage of the Dockerfile beside this file. SBOM is attached
// in the form that BuildKit has for attestations. An index, whose digest is printed, has both: runtimes choose the image by
// its platform. The output does not depend on the time or the machine.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const [version, sbom, folder, ...layers] = process.argv.slice(2);
const TYPE = 'application/vnd.oci.image';

const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Writes a blob and returns its descriptor. @param {string} mediaType @param {string | Buffer} content */
function blob(mediaType, content) {
  const bytes = Buffer.from(content);
  const digest = digestOf(bytes);
  writeFileSync(join(folder, 'blobs', digest.replace(':', '/')), bytes);
  return { mediaType, digest, size: bytes.length };
}
const jsonBlob = (mediaType, content) => blob(mediaType, JSON.stringify(content));

/** The settings of the Dockerfile's last stage, as an image's config has them. */
function settings() {
  const text = readFileSync(new URL('Dockerfile', import.meta.url), 'utf8').replace(/\\\n/g, ' ');
  const [, last] = text.split('FROM scratch\n');
  const value = (instruction) => new RegExp(`^${instruction} (.*)$`, 'm').exec(last)[1];
  const labels = [...value('LABEL').matchAll(/(\S+)="([^"]*)"/g)];
  return {
    User: value('USER'),
    ExposedPorts: Object.fromEntries(
      value('EXPOSE')
        .split(' ')
        .map((port) => [`${port}/tcp`, {}]),
    ),
    Entrypoint: JSON.parse(value('ENTRYPOINT')),
    Cmd: JSON.parse(value('CMD')),
    StopSignal: value('STOPSIGNAL'),
    Labels: Object.fromEntries(labels.map(([, name, text]) => [name, text.replace('${VERSION}', version)])),
  };
}

mkdirSync(join(folder, 'blobs/sha256'), { recursive: true });
const contents = layers.map((file) => readFileSync(file));
const config = settings();
const platform = { architecture: { arm64: 'arm64', x64: 'amd64' }[process.arch], os: 'linux' };

/** Writes a manifest and returns its descriptor. */
const manifest = (content) =>
  jsonBlob(`${TYPE}.manifest.v1+json`, { schemaVersion: 2, mediaType: `${TYPE}.manifest.v1+json`, ...content });
const image = manifest({
  config: jsonBlob(`${TYPE}.config.v1+json`, {
    ...platform,
    config,
    rootfs: { type: 'layers', diff_ids: contents.map(digestOf) },
  }),
  layers: contents.map((bytes) => blob(`${TYPE}.layer.v1.tar+gzip`, gzipSync(bytes))),
  annotations: config.Labels,
});
const IN_TOTO = 'application/vnd.in-toto+json';
const SPDX = 'https://spdx.dev/Document';
const statement = jsonBlob(IN_TOTO, {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: `stampgate:${version}`, digest: { sha256: image.digest.replace('sha256:', '') } }],
  predicateType: SPDX,
  predicate: JSON.parse(readFileSync(sbom, 'utf8')),
});
const nowhere = { architecture: 'unknown', os: 'unknown' };
const attestation = manifest({
  config: jsonBlob(`${TYPE}.config.v1+json`, {
    ...nowhere,
    config: {},
    rootfs: { type: 'layers', diff_ids: [statement.digest] },
  }),
  layers: [{ ...statement, annotations: { 'in-toto.io/predicate-type': SPDX } }],
});

const indexOf = (manifests) => ({ schemaVersion: 2, mediaType: `${TYPE}.index.v1+json`, manifests });
const attests = { 'vnd.docker.reference.digest': image.digest, 'vnd.docker.reference.type': 'attestation-manifest' };
const index = jsonBlob(
  `${TYPE}.index.v1+json`,
  indexOf([
    { ...image, platform },
    { ...attestation, annotations: attests, platform: nowhere },
  ]),
);
const annotations = {
  // containerd needs the whole name: the kubelet cannot start an image that has a shorter one.
  'io.containerd.image.name': `docker.io/library/stampgate:${version}`,
  'org.opencontainers.image.ref.name': version,
};
writeFileSync(join(folder, 'index.json'), JSON.stringify(indexOf([{ ...index, annotations }])));
writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
console.log(index.digest);
