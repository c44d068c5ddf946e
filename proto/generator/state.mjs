// The state of the generator, in the tree or in the archive of a release: what upstream published, the lock, the reviewed tables, and the protos.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeApi } from './api.mjs';
import { emptyCatalog, mergeReleases } from './catalog.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { methodsIn, methodsPage, serviceConfig } from './method_pages.mjs';
import { buf } from './packages.mjs';
import { labelOf } from './presence.mjs';
import { printFile } from './print.mjs';
import { Reviewed } from './reviewed.mjs';

/** Writes an object of objects as JSON, with one line for each inner entry, so that a difference is easy to read. */
function lines(value) {
  const entry = ([key, inner]) => {
    if (Array.isArray(inner))
      return `${JSON.stringify(key)}: [\n${inner.map((one) => JSON.stringify(one)).join(',\n')}\n]`;
    const parts = Object.entries(inner).map(([name, one]) => `${JSON.stringify(name)}: ${JSON.stringify(one)}`);
    return `${JSON.stringify(key)}: {\n${parts.join(',\n')}\n}`;
  };
  return `{\n${Object.entries(value).map(entry).join(',\n')}\n}\n`;
}

const read = (path, empty) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : empty());

/** The files of a generator's state below the folder `proto` of the tree. */
export class State {
  /** @param {string} proto the folder `proto` */
  constructor(proto) {
    this.proto = proto;
    this.catalogPath = join(proto, 'generator/published.json');
    this.lockPath = join(proto, 'generator/lock.json');
    this.catalog = read(this.catalogPath, emptyCatalog);
    this.lock = new Lock(read(this.lockPath, emptyLock));
    this.reviewed = new Reviewed(join(proto, 'reviewed'));
  }

  /** Whether the catalog has followed a release. @param {{source: string, version: string}} release */
  follows({ source, version }) {
    return this.catalog.releases.some((one) => one.source === source && one.version === version);
  }

  /**
   * Merges releases into the catalog.
   * @param {import('./release.mjs').ReadRelease[]} releases
   * @returns {ReturnType<typeof mergeReleases>}
   */
  follow(releases) {
    return mergeReleases(this.catalog, releases, this.reviewed.sources);
  }

  /**
   * What releases have that the catalog does not have, in lines of text. Changes nothing.
   * @param {import('./release.mjs').ReadRelease[]} releases
   */
  ahead(releases) {
    const { changes, undecided } = mergeReleases(structuredClone(this.catalog), releases, this.reviewed.sources);
    const lines = changes.flatMap(({ release, sentences }) =>
      sentences.map((sentence) => `${labelOf(release)} of ${release.day}: ${sentence}`),
    );
    return [...lines, ...undecided];
  }

  /**
   * Makes the protos.
   * @returns {{texts: Map<string, string>, unreviewed: string[], methods: object[]}} the text of each file that the
   *   generator writes, by its path below `proto`; and the elements without an entry in the tables
   */
  make() {
    const { files, methods, unreviewed } = makeApi(this.reviewed.complete(this.catalog), this.reviewed, this.lock);
    const texts = new Map(files.map((file) => [file.path, printFile(file)]));
    const protos = [...texts.keys(), ...this.byHand(texts)].sort();
    const all = protos.flatMap((path) => methodsIn(texts.get(path) ?? readFileSync(join(this.proto, path), 'utf8')));
    texts.set(
      'METHODS.md',
      methodsPage(all, this.catalog, (path) => this.reviewed.operation(path).reason),
    );
    texts.set('service_config.json', serviceConfig(all));
    texts.set('generator/published.json', lines(this.catalog));
    texts.set('generator/lock.json', lines(this.lock.content));
    return { texts, unreviewed, methods };
  }

  /** The paths of the files that `texts` would change. */
  stale(texts) {
    return [...texts]
      .filter(([path, text]) => {
        const file = join(this.proto, path);
        return !existsSync(file) || readFileSync(file, 'utf8') !== text;
      })
      .map(([path]) => path);
  }

  write(texts) {
    for (const path of this.stale(texts)) {
      const file = join(this.proto, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, texts.get(path));
    }
    this.writeDescriptorSet();
  }

  /** Makes the file with all protos again, which a gateway's config names. Only the archive of a release has one. */
  writeDescriptorSet() {
    const file = 'operations.binpb';
    if (!existsSync(join(this.proto, file))) return;
    execFileSync(process.execPath, [buf, 'build', '--path=stampgate', `--output=${file}`], { cwd: this.proto });
  }

  /** The paths below `proto` of the protos that are written by hand. */
  byHand(texts) {
    const paths = readdirSync(join(this.proto, 'stampgate/v1')).map((name) => `stampgate/v1/${name}`);
    return paths.filter((path) => !texts.has(path));
  }
}
