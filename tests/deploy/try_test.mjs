// Unpacks the archive of a release that needs no installation, and runs it as its page describes, with nothing but what
// every Debian has. Programs that replace the package managers take what those would download from the packages that
// deploy/install has installed.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { installed } from '../paths.mjs';
import { TRY, makeRelease, unpacked, whyNoRelease } from './release_archives.mjs';

/** The programs that the demonstration may call: Debian's essential packages have them. */
const ESSENTIAL = [
  ...['bash', 'cat', 'cut', 'dirname', 'mktemp', 'od', 'realpath', 'rm', 'sed', 'seq', 'sh', 'sha256sum', 'sleep'],
  ...['stat', 'tr'],
];

/** Writes a program of the shell to a folder. */
const program = (folder, name, text) => writeFileSync(join(folder, name), `#!/bin/sh -eu\n${text}\n`, { mode: 0o755 });

/**
 * The languages of the page. `replace` writes to `folder` what replaces the package manager, and returns the variables of
 * the environment that it needs.
 * @type {Record<string, (folder: string) => object>}
 */
const LANGUAGES = {
  Python(folder) {
    const libraries = installed('readme-python', 'tests/readme/requirements.txt');
    program(folder, 'pip', '/usr/bin/python3 -m zipfile -e "$2" venv/site');
    program(folder, 'python', `PYTHONPATH="$PWD/venv/site${delimiter}${libraries}" exec /usr/bin/python3 "$@"`);
    program(folder, 'python3', `mkdir -p venv/bin && cp '${folder}/pip' '${folder}/python' venv/bin`);
    return { PYTHONUNBUFFERED: '1' };
  },
  TypeScript(folder) {
    const packages = installed('typescript-client', 'proto/clients/typescript/package-lock.json');
    program(
      folder,
      'npm',
      `mkdir -p node_modules/@stampgate/client
       tar -xzf "$2" --strip-components=1 -C node_modules/@stampgate/client
       ln -sf '${packages}'/node_modules/* node_modules`,
    );
    return {};
  },
  // Go finds the modules in its own cache. -trimpath makes it compile them only once for all tests.
  Go: () => ({ GOFLAGS: '-mod=readonly -trimpath', GOPROXY: 'off', GOTOOLCHAIN: 'local' }),
};

describe('the archive that needs no installation', { timeout: 10 * HANG_MS, skip: whyNoRelease() }, () => {
  const folder = unpacked({ after }, makeRelease({ after }), TRY);
  const programs = scratch({ after });
  for (const name of ESSENTIAL)
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(programs, name));
  const bare = { PATH: programs, HOME: '/nonexistent' };

  it('runs the demonstration with the essential programs alone', async (t) => {
    const began = Date.now();
    const { status, stdout, stderr } = await run(['--once'], { command: join(folder, 'try'), env: bare });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^the gateway sent: POST \/public\/v1\/submit\/create_policies$/m);
    assert.match(stdout, /^ {2}subscriber: ACTIVITY_UPDATES ACTIVITY_TYPE_CREATE_POLICIES /m);
    t.diagnostic(`${((Date.now() - began) / 1000).toFixed(1)} s`);
  });

  it('prints how to call it', () => {
    const { status, stdout } = spawnSync(join(folder, 'try'), ['--help'], { encoding: 'utf8', env: bare });
    assert.equal(status, 0);
    assert.match(stdout, /^Starts upstream's simulator .*\n\n {2}\.\/try {11}keeps both running/);
  });

  describe('while it runs', () => {
    const page = readFileSync(join(folder, 'README.md'), 'utf8');
    let demonstration;
    let ended;
    let output = '';

    before(async () => {
      demonstration = spawn(join(folder, 'try'), { env: bare });
      ended = once(demonstration, 'exit');
      for (const stream of [demonstration.stdout, demonstration.stderr]) stream.on('data', (data) => (output += data));
      await Promise.race([ended, until(() => output.includes('runs until Ctrl-C'), 'the demonstration waits')]);
      assert.equal(demonstration.exitCode, null, output);
    });
    after(async () => {
      demonstration.kill();
      await ended;
    });

    for (const [language, replace] of Object.entries(LANGUAGES)) {
      it(`the commands of the page for ${language} make a call, get a typed error and receive events`, async (t) => {
        const address = /^gateway on (\S+),/m.exec(output)[1];
        const replaced = scratch(t);
        const env = {
          ...process.env,
          NODE_OPTIONS: '',
          ...replace(replaced),
          PATH: `${replaced}${delimiter}${process.env.PATH}`,
        };
        const [, section] = new RegExp(`^## ${language}\n([^]*?)^## `, 'm').exec(page);
        const [install, ...commands] = [...section.matchAll(/^ {4}(\S.*)$/gm)].map(([, command]) => command);

        /** Runs a command of the page, after the first one, until it has printed `expected`. */
        async function prints(command, expected) {
          const script = `cd "$0"\n${install}\n${command} ${address}`;
          const child = spawn('bash', ['-e', '-c', script, folder], { env, detached: true });
          const hang = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), 4 * HANG_MS); // Go may have to compile
          let printed = '';
          for (const stream of [child.stdout, child.stderr]) {
            stream.on('data', (data) => {
              printed += data;
              if (expected.test(printed)) process.kill(-child.pid, 'SIGKILL');
            });
          }
          await once(child, 'close');
          clearTimeout(hang);
          assert.match(printed, expected, command);
        }
        assert.equal(commands.length, 3);
        await prints(commands[0], /^0x[0-9a-f]{40}\b/im);
        await prints(commands[1], /is required/m);
        await prints(commands[2], /ACTIVITY_UPDATES/);
      });
    }
  });
});
