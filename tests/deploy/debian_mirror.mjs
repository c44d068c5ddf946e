// A mirror of Debian with packages of the tests' own, signed by a key of the tests' own.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Builds a Debian package. `files` has the contents of its files by path, all of which are executable; `depends` is the
 * text of the field. Returns the package with its bytes and with its path in a mirror.
 * @param {string} folder
 * @param {string} name
 * @param {string} version
 * @param {{files?: Record<string, string>, depends?: string}} [content]
 */
export function makePackage(folder, name, version, { files = {}, depends } = {}) {
  const tree = mkdtempSync(join(folder, 'package-'));
  const control = [
    `Package: ${name}`,
    `Version: ${version}`,
    'Architecture: amd64',
    'Maintainer: tests <tests@example.com>',
    ...(depends ? [`Depends: ${depends}`] : []),
    'Description: a package of the tests',
    '',
  ].join('\n');
  for (const [path, content] of Object.entries({ ...files, 'DEBIAN/control': control })) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), content, { mode: path.startsWith('DEBIAN') ? 0o644 : 0o755 });
  }
  const file = `${tree}.deb`;
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, file], { stdio: 'ignore' });
  const bytes = readFileSync(file);
  // The name of the file has no epoch.
  const path = `pool/main/${name}_${version.replace(/^\d+:/, '')}_amd64.deb`;
  return { name, version, control, bytes, sha256: sha256(bytes), path };
}

/** The lines of third_party/root/lock for these packages. */
export const lockOf = (packages) =>
  packages
    .map((each) => `${each.name} ${each.version} ${each.sha256} ${each.path.replaceAll('+', '%2b')}\n`)
    .sort()
    .join('');

/** A key that signs mirrors. `keyring` is the file with its public part. Ends with the test. */
export function makeKey(t) {
  // gpg's agent listens on a socket in this folder, and the path of a socket must be short.
  const home = mkdtempSync(join(tmpdir(), 'gpg-'));
  const gpg = (...args) => execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--yes', ...args]);
  t.after(() => {
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    rmSync(home, { recursive: true, force: true });
  });
  gpg('--passphrase', '', '--quick-generate-key', 'mirror@example.com', 'default', 'sign', 'never');
  const keyring = join(home, 'keyring.gpg');
  gpg('--output', keyring, '--export');
  return {
    keyring,
    sign(text) {
      const file = join(home, 'text');
      writeFileSync(file, text);
      gpg('--output', `${file}.asc`, '--clearsign', file);
      return readFileSync(`${file}.asc`);
    },
  };
}

/**
 * Starts a mirror. `pool` lists the packages that it has; `unstable` and `experimental` list those that its signed lists
 * name. Resolves to its URL.
 */
export async function startMirror(t, key, { pool = [], unstable = [], experimental = [] }) {
  const files = new Map(pool.map((each) => [`/${each.path}`, each.bytes]));
  for (const [suite, packages] of Object.entries({ unstable, experimental })) {
    const list = packages
      .map((each) => `${each.control}Filename: ${each.path}\nSize: ${each.bytes.length}\nSHA256: ${each.sha256}\n\n`)
      .join('');
    const release = [
      `Suite: ${suite}`,
      `Codename: ${suite}`,
      `Date: ${new Date().toUTCString()}`,
      'Architectures: amd64',
      'Components: main',
      'SHA256:',
      ` ${sha256(list)} ${list.length} main/binary-amd64/Packages`,
      '',
    ].join('\n');
    files.set(`/dists/${suite}/main/binary-amd64/Packages`, Buffer.from(list));
    files.set(`/dists/${suite}/InRelease`, key.sign(release));
  }
  const server = createServer((request, response) => {
    const bytes = files.get(decodeURIComponent(request.url));
    response.writeHead(bytes ? 200 : 404).end(bytes);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return `http://127.0.0.1:${port}`;
}
