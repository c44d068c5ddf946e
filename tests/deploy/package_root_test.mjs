// Tests third_party/root/install and deploy/install: each way to a first build. The mirrors have a few small packages,
// whose compiler only compares two files; a further test uses the real package root.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { root as tree } from '../paths.mjs';
import { lockOf, makeKey, makePackage, startMirror } from './debian_mirror.mjs';

const INSTALL = join(tree, 'third_party/root/install');

// Its program runs if gRPC was built for the Abseil in the root.
const COMPILER = `#!/bin/sh
root=$(dirname "$0")/../..
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\ncmp %s %s\\n' "$root/usr/share/abseil" "$root/usr/share/grpc" >"$2"
chmod +x "$2"
`;

const compiler = (folder) =>
  makePackage(folder, 'clang', '1:21.1.8-74', {
    files: {
      'usr/bin/clang++': COMPILER,
      'usr/lib/llvm-21/bin/clang': '#!/bin/sh\n',
      'usr/lib/x86_64-linux-gnu/libc.so.6': '',
    },
  });
const abseil = (folder, version, abi) =>
  makePackage(folder, 'libabsl-dev', version, { files: { 'usr/share/abseil': abi } });
const grpc = (folder, version, abi, depends = 'libabsl-dev') =>
  makePackage(folder, 'libgrpc++-dev', version, { files: { 'usr/share/grpc': abi }, depends });

/**
 * A tree with the scripts, a lock of `locked`, and a home folder. `install` runs third_party/root/install, or `command`,
 * with the mirrors.
 */
function makeTree(t, key, locked) {
  const folder = scratch(t);
  const scripts = join(folder, 'tree/third_party/root');
  const home = join(folder, 'home');
  mkdirSync(scripts, { recursive: true });
  mkdirSync(home);
  for (const name of ['install', 'probe.cc']) copyFileSync(join(tree, 'third_party/root', name), join(scripts, name));
  writeFileSync(join(scripts, 'packages'), 'clang\nlibgrpc++-dev\n');
  writeFileSync(join(scripts, 'lock'), lockOf(locked));
  const env = { ...process.env, HOME: home, STAMPGATE_DEBIAN_KEYRING: key.keyring };
  delete env.STAMPGATE_DEBIAN_ARCHIVE;
  const script = join(scripts, 'install');
  return {
    folder: join(folder, 'tree'),
    install: (mirror, { archive, command = script, path } = {}) =>
      run([], {
        command,
        env: {
          ...env,
          STAMPGATE_DEBIAN_MIRROR: mirror,
          ...(archive && { STAMPGATE_DEBIAN_ARCHIVE: archive }),
          ...(path && { PATH: `${path}:${process.env.PATH}` }),
        },
      }),
    /** The file `lock` of the root that a build would use, or null. */
    async lockFile() {
      const { status, stdout } = await run(['--path'], { command: script, env });
      return status === 0 ? join(stdout.trim(), 'lock') : null;
    },
    async rootLock() {
      const file = await this.lockFile();
      return file && readFileSync(file, 'utf8');
    },
  };
}

/** The packages of the lock, and newer ones: gRPC 1.84 with the Abseil for which it was built, and another Abseil. */
function makePackages(folder) {
  const clang = compiler(folder);
  return {
    clang,
    locked: [clang, abseil(folder, '20260526.0-2', 'A'), grpc(folder, '1.83.0-1', 'A')],
    newer: [clang, abseil(folder, '20260817.0-1', 'B'), grpc(folder, '1.84.0-1', 'B')],
    misfit: [clang, abseil(folder, '20260817.0-1', 'B'), grpc(folder, '1.83.1-1', 'A')],
  };
}

const lists = ([clang, absl, rpc]) => ({ unstable: [clang, absl], experimental: [rpc] });
const all = (packages) => ({ pool: packages, ...lists(packages) });

describe('a package root', () => {
  const folder = scratch({ after });
  const key = makeKey({ after });
  const { clang, locked, newer, misfit } = makePackages(folder);
  const mirrorOf = (packages) => startMirror({ after }, key, packages);

  it('a mirror with all packages of the lock gives these', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const mirror = await mirrorOf({ pool: locked });
    const { status, stderr } = await made.install(mirror);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^root: the root has the packages of third_party\/root\/lock$/m);
    assert.equal(await made.rootLock(), lockOf(locked));
    const again = await made.install('http://127.0.0.1:1');
    assert.deepEqual([again.status, again.stderr], [0, ''], 'a second run fetches nothing');
  });

  it('a mirror that keeps old versions gives the packages that have gone', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const mirror = await mirrorOf({ ...all(newer), pool: [clang, ...newer] });
    const { status, stderr } = await made.install(mirror, { archive: await mirrorOf({ pool: locked.slice(1) }) });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^root: http:\/\/\S+ did not give 2 of the packages: libabsl-dev libgrpc\+\+-dev$/m);
    assert.match(stderr, /^root: the root has the packages of third_party\/root\/lock$/m);
    assert.equal(await made.rootLock(), lockOf(locked));
  });

  it('without such a mirror, newer packages replace those that have gone', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const { status, stderr } = await made.install(await mirrorOf(all(newer)));
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^root: STAMPGATE_DEBIAN_ARCHIVE names no mirror that keeps old versions$/m);
    assert.match(stderr, /^root: libgrpc\+\+-dev 1\.84\.0-1 replaces 1\.83\.0-1$/m);
    assert.match(
      stderr,
      /newer packages than third_party\/root\/lock, with which this version of the tree was not tested$/m,
    );
    assert.equal(await made.rootLock(), lockOf(newer));
  });

  it('so they do after a run that was interrupted before it had checked its root', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    assert.equal((await made.install(await mirrorOf({ pool: locked }))).status, 0);
    rmSync(await made.lockFile());
    const { status, stderr } = await made.install(await mirrorOf(all(newer)));
    assert.equal(status, 0, stderr);
    assert.equal(await made.rootLock(), lockOf(newer));
  });

  it('so they do if the mirror of old versions lacks a package too', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const archive = await mirrorOf({ pool: locked.slice(0, 2) });
    const { status, stderr } = await made.install(await mirrorOf(all(newer)), { archive });
    assert.equal(status, 0, stderr);
    assert.equal(
      stderr.match(/^root: http:\/\/\S+ did not give 1 of the packages: libgrpc\+\+-dev$/gm)?.length,
      1,
      stderr,
    );
    assert.equal(await made.rootLock(), lockOf(newer));
  });

  it('packages with other bytes than the lock states are not used', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const pool = [locked[0], locked[1], { ...locked[2], bytes: newer[2].bytes }];
    const { status, stderr } = await made.install(await mirrorOf({ pool }), { archive: await mirrorOf({ pool }) });
    assert.equal(status, 1);
    assert.match(stderr, /^root: http:\/\/\S+ did not give 1 of the packages: libgrpc\+\+-dev$/m);
    assert.equal(await made.rootLock(), null);
  });

  it('newer packages that do not fit each other make no root', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const { status, stderr } = await made.install(await mirrorOf(all(misfit)));
    assert.equal(status, 1);
    assert.match(stderr, /^root: the small program fails: /m);
    assert.equal(await made.rootLock(), null);
  });

  it(
    'packages of the lock that do not fit this machine are replaced by newer ones',
    { timeout: HANG_MS },
    async (t) => {
      const unfit = [clang, abseil(folder, '20260526.0-1', 'C'), locked[2]];
      const made = makeTree(t, key, unfit);
      const { status, stderr } = await made.install(await mirrorOf({ ...all(newer), pool: [...unfit, ...newer] }));
      assert.equal(status, 0, stderr);
      assert.match(stderr, /^root: the small program fails: /m);
      assert.equal(await made.rootLock(), lockOf(newer));
    },
  );

  it('packages that are older than those of the lock are refused', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, newer);
    const { status, stderr } = await made.install(await mirrorOf(all(locked)));
    assert.equal(status, 1);
    assert.match(stderr, /^root: \S+ \S+ is older than \S+, which third_party\/root\/lock names$/m);
    assert.equal(await made.rootLock(), null);
  });

  it('lists that another key has signed are refused', { timeout: HANG_MS }, async (t) => {
    const made = makeTree(t, key, locked);
    const { status } = await made.install(await startMirror(t, makeKey(t), all(newer)));
    assert.equal(status, 1);
    assert.equal(await made.rootLock(), null);
  });

  it("without a package root, deploy/install selects Debian 12's own libraries", { timeout: HANG_MS }, async (t) => {
    for (const packages of [
      all(misfit),
      {},
      all([clang, locked[1], grpc(folder, '1.84.0-1', 'B', 'libabsl-of-yesterday')]),
    ]) {
      const made = makeTree(t, key, locked);
      const { stderr, stdout, status } = await deployInstall(t, made, await mirrorOf(packages));
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^install: WARNING: this tree now builds with Debian 12's own libraries/m);
      assert.match(readFileSync(join(made.folder, '.bazelrc.debian12'), 'utf8'), /^build --config=debian12$/m);
      // A later run that can create the root selects it again.
      const later = await deployInstall(t, made, await mirrorOf({ pool: locked }));
      assert.equal(later.status, 0, later.stderr);
      assert.equal(existsSync(join(made.folder, '.bazelrc.debian12')), false);
      assert.equal(await made.rootLock(), lockOf(locked));
    }
  });
});

/** Runs deploy/install in the tree `made`, on a machine that has all of Debian 12's packages, and whose npm does nothing. */
function deployInstall(t, made, mirror) {
  const path = scratch(t);
  writeFileSync(join(path, 'dpkg-query'), '#!/bin/sh\necho installed\n', { mode: 0o755 });
  writeFileSync(join(path, 'npm'), '#!/bin/sh\n', { mode: 0o755 });
  for (const folder of ['third_party/npm', 'tests/clients']) {
    mkdirSync(join(made.folder, folder), { recursive: true });
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      writeFileSync(join(made.folder, folder, name), '');
  }
  mkdirSync(join(made.folder, 'deploy'), { recursive: true });
  const command = join(made.folder, 'deploy/install');
  copyFileSync(join(tree, 'deploy/install'), command);
  chmodSync(command, 0o755);
  return made.install(mirror, { command, path });
}

// Each check compiles gRPC's headers, which takes long on a busy machine.
test('the check finds a library of another ABI in the real package root', { timeout: 10 * HANG_MS }, async (t) => {
  const real = execFileSync(INSTALL, ['--path'], { encoding: 'utf8' }).trim();
  const copy = join(scratch(t), 'root');
  const libraries = join(copy, 'usr/lib/x86_64-linux-gnu');
  const realLibraries = join(real, 'usr/lib/x86_64-linux-gnu');
  const archives = join(copy, 'usr/lib/static');
  mkdirSync(libraries, { recursive: true });
  mkdirSync(archives);
  for (const name of readdirSync(join(real, 'usr')).filter((each) => each !== 'lib')) {
    symlinkSync(join(real, 'usr', name), join(copy, 'usr', name));
  }
  symlinkSync('usr/lib', join(copy, 'lib'));
  symlinkSync('usr/lib64', join(copy, 'lib64'));
  symlinkSync(join(real, 'usr/lib/gcc'), join(copy, 'usr/lib/gcc'));
  for (const name of readdirSync(realLibraries)) symlinkSync(join(realLibraries, name), join(libraries, name));
  // These two are scripts of the linker, whose paths are in the root only if the files are.
  for (const name of ['libc.so', 'libm.so']) {
    rmSync(join(libraries, name));
    copyFileSync(join(realLibraries, name), join(libraries, name));
  }
  for (const name of readdirSync(join(real, 'usr/lib/static'))) {
    symlinkSync(join(real, 'usr/lib/static', name), join(archives, name));
  }
  const check = () => run(['--check', copy], { command: INSTALL, hangMs: 3 * HANG_MS });
  assert.equal((await check()).status, 0, 'the copy is right');

  // The small program calls the first library; only gRPC calls the second one.
  for (const prefix of ['libabsl_strings.so.', 'libcares.so.']) {
    const name = readdirSync(libraries)
      .filter((each) => each.startsWith(prefix))
      .sort((x, y) => x.length - y.length)[0];
    const library = join(libraries, name);
    rmSync(library);
    // A library without functions, which has the same name.
    execFileSync(join(real, 'usr/bin/clang++'), [
      `--sysroot=${real}`,
      `-B${join(real, 'usr/bin')}`,
      '-shared',
      '-nostdlib',
      `-Wl,-soname,${name}`,
      '-o',
      library,
      '-x',
      'c++',
      '/dev/null',
    ]);
    const { status, stderr } = await check();
    assert.equal(status, 1, name);
    assert.match(stderr, /undefined symbol|undefined reference|symbol lookup error/);
    rmSync(library);
    symlinkSync(join(realLibraries, name), library);
  }

  // An archive without functions.
  const archive = join(archives, 'libcares.a');
  rmSync(archive);
  writeFileSync(archive, '!<arch>\n');
  const { status, stderr } = await check();
  assert.equal(status, 1);
  assert.match(stderr, /undefined symbol: ares_/);
});
