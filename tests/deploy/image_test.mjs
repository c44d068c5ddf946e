// Tests the content of the image, and that the gateway works in it as Kubernetes would run it. Needs no container
// runtime.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { QUERY, SUBMIT } from '../end_to_end/failures.mjs';
import { HANG_MS, eventsConfig, freeCaller, run, scratch, startGateway } from '../end_to_end/harness.mjs';
import { binary, root, wholeTree } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';
import { USER, collectTree, runner, whyNoRun } from './image_tree.mjs';

const tree = collectTree({ after });

// The package root with which the gateway is built: the gateway's loader is in it.
const print = ['--print-interpreter', binary('gateway/stampgate')];
const interpreter = execFileSync('patchelf', print, { encoding: 'utf8' }).trim();
const packageRoot = interpreter.replace(/\/usr\/lib\/.*$/, '');

/** Returns every path in the image's tree, relative to the tree's root, with the result of lstat. */
function contents(folder = '') {
  return readdirSync(join(tree, folder))
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}`;
      const stat = lstatSync(join(tree, path));
      return [{ path, stat }, ...(stat.isDirectory() ? contents(path) : [])];
    });
}

describe('the image', { timeout: 2 * HANG_MS }, () => {
  it('contains two programs only: the gateway and the loader', () => {
    const programs = contents()
      .filter(({ stat }) => stat.isFile() && stat.mode & 0o111)
      .map(({ path }) => path);
    assert.equal(programs.length, 2, programs.join());
    assert.ok(programs.includes('/stampgate'));
    assert.match(
      programs.find((path) => path !== '/stampgate'),
      /^\/usr\/lib\S*\/ld-linux[^/]*$/,
    );
    for (const folder of ['bin', 'sbin', 'usr/bin', 'usr/sbin', 'tmp']) {
      assert.throws(() => lstatSync(join(tree, folder)), { code: 'ENOENT' }, folder);
    }
  });

  it('contains only files, folders and links, with no write permission and no setuid bit', () => {
    for (const { path, stat } of contents()) {
      assert.ok(stat.isFile() || stat.isDirectory() || stat.isSymbolicLink(), path);
      if (stat.isSymbolicLink()) continue;
      assert.equal(stat.mode & 0o7000, 0, path);
      // Kubernetes mounts the volume on this folder. Without a volume the gateway writes to the folder itself, so it
      // may be writable.
      if (path !== '/var/lib/stampgate') assert.equal(stat.mode & 0o222, 0, path);
    }
  });

  it('contains nothing of the machine that built it: no key, no CA certificate, no path', () => {
    const bundle = readFileSync(join(tree, 'etc/ssl/certs/ca-certificates.crt'), 'utf8');
    const packaged = readFileSync(join(packageRoot, 'var/lib/dpkg/status.d/ca-certificates.list'), 'utf8')
      .split('\n')
      .filter((path) => /^\/usr\/share\/ca-certificates\/.*\.crt$/.test(path));
    assert.ok(packaged.length > 100);
    assert.equal(bundle.match(/^-----BEGIN CERTIFICATE-----$/gm).length, packaged.length);
    for (const { path, stat } of contents()) {
      if (!stat.isFile() || path === '/stampgate' || path.includes('.so')) continue;
      const text = readFileSync(join(tree, path), 'latin1');
      assert.ok(!text.includes('PRIVATE KEY-----'), path);
      assert.ok(!text.includes(wholeTree()), path);
    }
  });

  it('has the same bytes each time that collect runs', (t) => {
    const pack = ['--sort=name', '-cf', '-', '.'];
    const bytes = (folder) => execFileSync('tar', pack, { cwd: folder, maxBuffer: 2 ** 28 });
    assert.ok(bytes(tree).equals(bytes(collectTree(t))));
  });

  it('lists every Debian package that a file comes from, with its version, and the packages compiled into the binary', () => {
    const sbom = JSON.parse(readFileSync(join(tree, 'usr/share/stampgate/sbom.spdx.json'), 'utf8'));
    assert.equal(sbom.spdxVersion, 'SPDX-2.3');
    const ids = sbom.packages.map(({ SPDXID }) => SPDXID);
    assert.equal(new Set(ids).size, ids.length);
    const related = (type) =>
      sbom.relationships
        .filter((each) => each.relationshipType === type && each.spdxElementId === 'SPDXRef-stampgate')
        .map(({ relatedSpdxElement }) => sbom.packages.find(({ SPDXID }) => SPDXID === relatedSpdxElement));

    // Looks up which package of the package root owns each library, independently of the names that collect wrote.
    const records = join(packageRoot, 'var/lib/dpkg/status.d');
    const lists = readdirSync(records)
      .filter((name) => name.endsWith('.list'))
      .map((name) => [name.replace('.list', ''), new Set(readFileSync(join(records, name), 'utf8').split('\n'))]);
    const linked = execFileSync(interpreter, ['--list', binary('gateway/stampgate')], { encoding: 'utf8' });
    const paths = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
    const owners = paths.map((path) => lists.find(([, files]) => files.has(path.replace(packageRoot, '')))[0]);
    const shipped = [...new Set([...owners, 'base-files', 'ca-certificates', 'openssl'])].sort();
    assert.doesNotMatch(linked, /libabsl|libgrpc|libprotobuf/, 'the binary contains these libraries');
    const compiledIn = [
      'libabsl-dev',
      'libboost1.92-dev',
      'libc-ares-dev',
      'libgrpc++-dev',
      'libgrpc-dev',
      'libprotobuf-dev',
      'libre2-dev',
      'libupb-dev',
      'libutf8-range-dev',
      'libutf8-validity-dev',
    ];
    assert.deepEqual(
      related('DEPENDS_ON')
        .map(({ name }) => name)
        .sort(),
      shipped,
    );
    const [npm, ...debian] = related('STATIC_LINK').reverse();
    assert.equal(npm.name, 'google-proto-files');
    assert.deepEqual(debian.map(({ name }) => name).sort(), compiledIn);
    assert.deepEqual(readdirSync(join(tree, 'var/lib/dpkg/status.d')).sort(), [...shipped, ...compiledIn].sort());
    for (const { name, versionInfo, externalRefs } of [...related('DEPENDS_ON'), ...debian]) {
      const status = readFileSync(join(tree, 'var/lib/dpkg/status.d', name), 'utf8');
      assert.equal(/^Version: (.*)$/m.exec(status)[1], versionInfo);
      assert.ok(externalRefs[0].referenceLocator.startsWith(`pkg:deb/debian/${name}@`));
      assert.ok(lstatSync(join(tree, 'usr/share/doc', name, 'copyright')).size > 0);
    }
  });

  it('is not made if a library of the program belongs to no Debian package', (t) => {
    const folder = scratch(t);
    const linked = execFileSync(interpreter, ['--list', binary('gateway/stampgate')], { encoding: 'utf8' });
    const [, sodium] = /libsodium\S* => (\S+)/.exec(linked);
    copyFileSync(sodium, join(folder, basename(sodium)));
    const other = join(folder, 'stampgate');
    copyFileSync(binary('gateway/stampgate'), other);
    chmodSync(other, 0o755);
    execFileSync('patchelf', ['--force-rpath', '--set-rpath', `${folder}:${dirname(sodium)}`, other]);
    const { status, stderr } = spawnSync(join(root, 'deploy/image/collect'), [other, join(folder, 'root')], {
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, /libsodium\S* belongs to no Debian package/);
  });

  it('is not made from a program that is not built with the package root', (t) => {
    const { status, stderr } = spawnSync(join(root, 'deploy/image/collect'), ['/bin/sh', join(scratch(t), 'root')], {
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, /is not built with the package root/);
  });
});

/**
 * Creates a folder as Kubernetes mounts a secret: symbolic links lead to a folder that can be replaced, root owns the
 * files, and the group may read them. Returns a function from a file's name to its path.
 */
function mountSecret(folder, files) {
  const version = join(folder, '..2026_11_21');
  mkdirSync(version, { recursive: true });
  symlinkSync('..2026_11_21', join(folder, '..data'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(version, name), text, { mode: 0o440 });
    chownSync(join(version, name), 0, USER);
    symlinkSync(join('..data', name), join(folder, name));
  }
  return (name) => join(folder, name);
}

const { privateKey, curve } = apiKeyNamed('gateway p256');
const keyFiles = (folder) => mountSecret(join(folder, 'keys'), { 'main.key': `${privateKey}:${curve}\n` });

describe('in the image, as Kubernetes would run it', { timeout: 2 * HANG_MS, skip: whyNoRun() }, () => {
  it('the loader finds every library, and fails if one is missing', (t) => {
    const own = collectTree(t);
    const folder = scratch(t);
    const loader = contents().find(({ path }) => /\/ld-linux[^/]*$/.test(path)).path;
    const list = runner(own, folder, { program: loader, name: 'list' });
    const listed = execFileSync(list, ['--list', '/stampgate'], { encoding: 'utf8' });
    assert.doesNotMatch(listed, /not found/);
    for (const [, path] of listed.matchAll(/ => (\S+) /g)) assert.ok(lstatSync(join(own, path)).isFile(), path);

    const [, sodium] = /libsodium\S* => (\S+)/.exec(listed);
    rmSync(join(own, sodium));
    const { status, stderr } = spawnSync(runner(own, folder), ['--version'], { encoding: 'utf8' });
    assert.equal(status, 127);
    assert.match(stderr, /libsodium/);
  });

  it('the gateway prints its version, and checks a config', async (t) => {
    const own = collectTree(t);
    const folder = scratch(t);
    const command = runner(own, folder);
    const version = await run(['--version'], { command });
    assert.deepEqual([version.status, version.stderr], [0, '']);
    assert.deepEqual(version.stdout, (await run(['--version'])).stdout);
    const sections = execFileSync(join(packageRoot, 'usr/bin/readelf'), ['--sections', join(own, 'stampgate')], {
      encoding: 'utf8',
    });
    assert.doesNotMatch(sections, /\.symtab/, 'names of functions need 10 MB');

    const config = (key) => {
      const file = join(folder, 'stampgate.yaml');
      const keys = [{ name: 'main', file: key, all_organizations: true }];
      const upstream = { base_url: 'https://api.example.com' };
      writeFileSync(file, JSON.stringify({ upstream, keys, callers: freeCaller() }));
      return file;
    };
    const at = keyFiles(folder);
    const good = await run(['check', '--config', config(at('main.key'))], { command });
    assert.equal(good.status, 0, good.stderr);
    const bad = await run(['check', '--config', config(at('none.key'))], { command });
    assert.equal(bad.status, 1);
  });

  it('the gateway makes calls and stores events, without capabilities and with a read-only root folder', async (t) => {
    const own = collectTree(t);
    const folder = scratch(t);
    const simulator = await startSimulator();
    t.after(() => simulator.close());
    const config = {
      keys: [{ name: 'main', file: keyFiles(folder)('main.key'), all_organizations: true }],
      ...eventsConfig(folder),
    };
    const gateway = await startGateway(t, simulator, config, { folder, command: runner(own, folder) });
    simulator.webhooks.setEndpoints(null, [gateway.webhookUrl]);

    const subscription = gateway.stream('EventService/Subscribe', { end: 'LOG_END_EARLIEST' });
    assert.ok((await gateway.call(SUBMIT.method, SUBMIT.request)).activity);
    assert.ok((await gateway.call(QUERY.method, QUERY.request)).policy);
    for await (const { events } of subscription) {
      if (events?.length > 0) break;
    }

    const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
    const line = (name) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)[1];
    assert.equal(line('Name'), 'stampgate');
    assert.equal(line('Uid'), Array(4).fill(USER).join('\t'));
    assert.equal(line('Gid'), Array(4).fill(USER).join('\t'));
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) assert.match(line(set), /^0+$/, set);
    assert.equal(line('NoNewPrivs'), '1');
    const mounts = readFileSync(`/proc/${gateway.child.pid}/mountinfo`, 'utf8').split('\n');
    const [, , , , , options] = mounts.map((text) => text.split(' ')).findLast(([, , , , place]) => place === '/');
    assert.ok(options.split(',').includes('ro'), options);
    assert.equal(lstatSync(join(folder, 'events.db')).uid, USER);
  });
});
