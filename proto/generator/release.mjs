// Fetches releases of upstream's packages from their registries with the registries' own clients, and reads releases
// from files. Unpacks the packages, and executes nothing of them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedOf, readCrate } from './crate.mjs';
import { readOpenApi } from './openapi.mjs';
import { readTypeScript } from './typescript.mjs';
import { readPython } from './python.mjs';

/**
 * @typedef {import('./catalog.mjs').Release} Release
 * @typedef {{release: Release, published: import('./published.mjs').Published}} ReadRelease
 */

const NPM = '@turnkey/sdk-types';
const PYTHON = ['turnkey-sdk-types', 'turnkey-http'];
const CRATE = 'turnkey_client';

/** The files that the readers read, by the end of their paths. */
const TYPESCRIPT = 'public_api.types.d.ts';
const PYTHON_TYPES = 'turnkey_sdk_types/generated/types.py';
const PYTHON_CLIENT = 'turnkey_http/generated/client.py';

const CLIENT_MS = 300_000;

/** Runs a client of a registry. */
const run = (program, args, options = {}) =>
  execFileSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    timeout: CLIENT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });

const digestOf = (...contents) =>
  contents.map((content) => `sha256-${createHash('sha256').update(content).digest('base64')}`).join(' ');

const dayOf = (time) => time.slice(0, 'YYYY-MM-DD'.length);

/** What `use` makes of a new folder, which exists only until then. */
function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The files of a package in the index that pip uses, which is the only one that states when a file was published. */
async function filesInIndex(name) {
  const ofPip = 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)';
  const index = process.env.PIP_INDEX_URL ?? run('python3', ['-c', ofPip]).trim();
  const url = `${index.replace(/\/$/, '')}/${name}/`;
  const headers = { accept: 'application/vnd.pypi.simple.v1+json' };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  if (!response.ok) throw new Error(`${url} returns HTTP ${response.status}`);
  return JSON.parse(await response.text()).files;
}

// Reading.

/** The content of a package for Python in a folder, unpacked or as wheels. */
function readPythonFolder(folder, files) {
  const [types, client] = [PYTHON_TYPES, PYTHON_CLIENT].map((end) => {
    const file = files.find((path) => path.endsWith(end));
    if (!file) throw new Error(`${folder} has no ${end}: upstream's types and client for Python are two packages`);
    return readFileSync(join(folder, file), 'utf8');
  });
  const version = files.map((path) => /turnkey_sdk_types-([^/]*)\.dist-info$/.exec(path)?.[1]).find(Boolean);
  return { source: 'python', version, integrity: digestOf(types, client), published: readPython(types, client) };
}

function readFolder(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const wheels = files.filter((path) => path.endsWith('.whl'));
  if (wheels.length > 0) {
    return inFolder((target) => {
      for (const wheel of wheels) run('python3', ['-m', 'zipfile', '--extract', join(folder, wheel), target]);
      return readFolder(target);
    });
  }
  const known = files.filter((path) => path.endsWith('.crate') || path.endsWith(TYPESCRIPT));
  return known.length === 1 ? readAny(join(folder, known[0])) : readPythonFolder(folder, files);
}

/** The content of a file or folder, which decides how it is read; a file's name decides only the version of a crate. */
function readAny(path) {
  if (statSync(path).isDirectory()) return readFolder(path);
  const bytes = readFileSync(path);
  const integrity = digestOf(bytes);
  if (bytes.subarray(0, 2).toString() === 'PK') {
    return inFolder((target) => {
      run('python3', ['-m', 'zipfile', '--extract', path, target]);
      return readFolder(target);
    });
  }
  if (bytes.readUInt16BE() === 0x1f8b) {
    const crate = readCrate(path);
    return { source: 'crate', version: crate.version, integrity, published: publishedOf(crate) };
  }
  const text = bytes.toString();
  if (text.trimStart().startsWith('{')) {
    return { source: 'openapi', integrity, published: readOpenApi(JSON.parse(text)) };
  }
  return { source: 'npm', integrity, published: readTypeScript(text) };
}

/**
 * Reads a release from a file or folder: an OpenAPI document, types for TypeScript, the two packages for Python (as
 * wheels, or unpacked), or a crate.
 * @param {string} path
 * @param {string} day the day of the release. It is also the version of a release whose file states none
 * @returns {ReadRelease}
 */
export function releaseIn(path, day) {
  const { published, source, version = day, integrity } = readAny(path);
  return { release: { source, version, day, integrity }, published };
}

// Registries.

/**
 * A release that a registry has. A release for Python consists of two wheels.
 * @typedef {{version: string, day: string, wheels?: {version: string, sha256: string}[]}} Offer
 */

/** The newest wheel of a package for Python. */
async function newestWheel(name) {
  const files = await filesInIndex(name);
  const wheels = files.filter(({ filename, yanked }) => filename.endsWith('.whl') && !yanked);
  const newest = wheels.sort((a, b) => a['upload-time'].localeCompare(b['upload-time'])).at(-1);
  return { version: newest.filename.split('-')[1], day: dayOf(newest['upload-time']), sha256: newest.hashes.sha256 };
}

/** The newest file with this end of its path in a folder of cargo's, which has a folder for each registry. */
function cargoFile(folder, end) {
  const home = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), folder);
  const paths = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) => `/${path}`.endsWith(end));
  const times = paths.map((path) => ({ path: join(home, path), time: statSync(join(home, path)).mtimeMs }));
  return times.sort((a, b) => a.time - b.time).at(-1).path;
}

const registries = {
  npm: {
    /** @param {string} [version] @returns {Promise<Offer>} */
    async newest(version = 'latest') {
      const found = JSON.parse(run('npm', ['view', `${NPM}@${version}`, 'version', '--json']));
      return { version: found, day: dayOf(JSON.parse(run('npm', ['view', NPM, 'time', '--json']))[found]) };
    },
    fetch({ version }, folder) {
      const expected = JSON.parse(run('npm', ['view', `${NPM}@${version}`, 'dist.integrity', '--json']));
      const [packed] = JSON.parse(run('npm', ['pack', `${NPM}@${version}`, '--json'], { cwd: folder }));
      if (packed.integrity !== expected) throw new Error(`${NPM}: the registry has two digests of a release`);
      run('tar', ['-xzf', packed.filename, `package/dist/__inputs__/${TYPESCRIPT}`], { cwd: folder });
      return packed.integrity;
    },
  },
  python: {
    /** The release of both packages: it has the version of the types, and the later day. @returns {Promise<Offer>} */
    async newest() {
      const wheels = await Promise.all(PYTHON.map(newestWheel));
      const day = wheels
        .map((wheel) => wheel.day)
        .sort()
        .at(-1);
      return { version: wheels[0].version, day, wheels };
    },
    fetch({ wheels }, folder) {
      const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', folder];
      run('python3', [...pip, ...PYTHON.map((name, index) => `${name}==${wheels[index].version}`)]);
      return wheels.map(({ sha256 }) => `sha256-${Buffer.from(sha256, 'hex').toString('base64')}`).join(' ');
    },
  },
  crate: {
    /** @returns {Promise<Offer>} */
    async newest() {
      // cargo keeps the lines of its index, with a NUL after each.
      run('cargo', ['info', '--quiet', CRATE], { cwd: tmpdir() });
      const index = readFileSync(cargoFile('registry/index', `/.cache/tu/rn/${CRATE}`), 'utf8');
      const lines = index.split('\0').filter((text) => text.startsWith('{'));
      const versions = lines
        .map((line) => JSON.parse(line))
        .filter(({ vers, yanked }) => !yanked && !vers.includes('-'));
      const { vers, pubtime } = versions.sort((a, b) => a.pubtime.localeCompare(b.pubtime)).at(-1);
      return { version: vers, day: dayOf(pubtime) };
    },
    fetch({ version }, folder) {
      // cargo downloads a crate into its cache to show the description, and verifies its digest.
      run('cargo', ['info', '--quiet', `${CRATE}@${version}`], { cwd: folder });
      const file = `${CRATE}-${version}.crate`;
      copyFileSync(cargoFile('registry/cache', file), join(folder, file));
    },
  },
};

/** The sources that have a registry. */
export const sources = Object.keys(registries);

/**
 * The newest release of a source in its registry.
 * @param {string} source
 * @param {string} [version] another release than the newest, of npm
 * @returns {Promise<Offer>}
 */
export const newestRelease = (source, version) => registries[source].newest(version);

/**
 * Fetches a release that `newestRelease` has found.
 * @param {string} source
 * @param {Offer} offer
 * @returns {ReadRelease}
 */
export const fetchRelease = (source, offer) =>
  inFolder((folder) => {
    const integrity = registries[source].fetch(offer, folder);
    const { release, published } = releaseIn(folder, offer.day);
    return { release: { ...release, version: offer.version, ...(integrity && { integrity }) }, published };
  });
