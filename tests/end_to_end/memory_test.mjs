// The process's memory contains each key once, and not at all after the key was replaced. Other processes cannot read
// this memory. A part of the heap has huge pages.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { binary } from '../paths.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { HANG_MS, freeCaller, run, scratch, startStack, writeKey } from './harness.mjs';
import { isSanitized, until } from './processes.mjs';

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];

/** The readable memory of a process in pieces, each beginning with the last bytes of the piece before it. */
function* memoryOf(pid) {
  const file = openSync(`/proc/${pid}/mem`, 'r');
  const overlap = 256;
  const piece = Buffer.alloc((4 << 20) + overlap);
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from, to, name] = /^([0-9a-f]+)-([0-9a-f]+) r\S* \S+ \S+ \S+ *(.*)$/.exec(line) ?? [];
      if (!from || name === '[vvar]' || name === '[vsyscall]') continue;
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += piece.length - overlap) {
        let size = 0;
        try {
          size = readSync(file, piece, 0, Math.min(piece.length, end - at), at);
        } catch {
          break; // this part cannot be read
        }
        yield { text: piece.subarray(0, size), fresh: Math.min(size, piece.length - overlap) };
      }
    }
  } finally {
    closeSync(file);
  }
}

/** The number of occurrences of each needle in the memory of a process. */
function countIn(pid, needles) {
  const counts = Object.fromEntries(Object.keys(needles).map((name) => [name, 0]));
  for (const { text, fresh } of memoryOf(pid)) {
    for (const [name, needle] of Object.entries(needles)) {
      for (let at = text.indexOf(needle); at >= 0 && at < fresh; at = text.indexOf(needle, at + 1)) counts[name] += 1;
    }
  }
  return counts;
}

/**
 * Returns the encodings in which 32 bytes may be in memory. For base64, returns the part of the text that does not
 * depend on the bytes before the 32 bytes.
 */
function formsOf(hex) {
  const bytes = Buffer.from(hex, 'hex');
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(shift === 0 ? 0 : 4, 40);
  });
  return {
    bytes,
    reversed: Buffer.from(bytes).reverse(),
    'lower-case hex': hex.toLowerCase(),
    'upper-case hex': hex.toUpperCase(),
    ...Object.fromEntries(base64.map((text, shift) => [`base64, shifted by ${shift}`, text])),
  };
}

/** Makes a key with `stampgate keygen`. Returns it in all encodings. */
async function makeKey(folder, curve, name) {
  const file = join(folder, name);
  const { status, stderr } = await run(['keygen', '--curve', curve, '--out', file]);
  assert.equal(status, 0, stderr);
  return { file, forms: formsOf(readFileSync(file, 'utf8').slice(0, 64)) };
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

describe(
  'a private key',
  { skip: isSanitized() && 'a sanitizer does not reuse freed memory', timeout: HANG_MS },
  () => {
    for (const curve of ['p256', 'secp256k1', 'ed25519']) {
      test(`of ${curve} is in memory once, and not at all after it was replaced`, async (t) => {
        const folder = scratch(t);
        const [first, second] = [await makeKey(folder, curve, 'first.key'), await makeKey(folder, curve, 'second.key')];
        const file = join(folder, 'gateway.key');
        writeFileSync(file, readFileSync(first.file), { mode: 0o600 });
        const keys = [{ name: 'main', file, all_organizations: true }];
        const { gateway } = await startStack(t, { config: { keys, reload_interval: '100ms' } });
        const pid = gateway.child.pid;
        // Upstream does not know the key, but the gateway signs with it.
        const sign = async () => {
          for (let i = 0; i < 20; ++i)
            assert.equal((await gateway.refusal(...QUERY)).info.reason, 'GATEWAY_CREDENTIAL_REJECTED');
        };
        // The control: the search finds a text that is in memory.
        assert.ok(countIn(pid, { path: file }).path > 0);
        await sign();
        // While the gateway checks the files for changes, it has a second copy of the key.
        await until(() => sum(countIn(pid, first.forms)) === 1, 'the key is there once');
        assert.equal(sum(countIn(pid, second.forms)), 0);

        writeFileSync(file, readFileSync(second.file));
        await until(() => gateway.output.includes('"reloaded"'), 'the new key is there');
        await sign();
        await until(() => sum(countIn(pid, first.forms)) === 0, 'the old key is gone');
        await until(() => sum(countIn(pid, second.forms)) === 1, 'the new key is there once');
      });
    }
  },
);

describe('the process', { timeout: HANG_MS }, () => {
  test('cannot be read by others, can gain no rights, and writes no core dump', async (t) => {
    const { gateway } = await startStack(t);
    const of = (name) => readFileSync(`/proc/${gateway.child.pid}/${name}`, 'utf8');
    assert.match(of('status'), /^NoNewPrivs:\t1$/m);
    assert.match(of('status'), /^Umask:\t0077$/m);
    assert.match(of('limits'), /^Max core file size +0 +0 /m);
  });

  const skipHuge =
    (isSanitized() && 'a sanitizer has its own heap') ||
    (!existsSync('/sys/kernel/mm/transparent_hugepage') && 'the kernel has no huge pages');
  test('has advised the kernel to use huge pages for its heap', { skip: skipHuge }, async (t) => {
    const { gateway } = await startStack(t);
    assert.match(readFileSync(`/proc/${gateway.child.pid}/smaps`, 'utf8'), /^VmFlags:.* hg\b/m);
  });

  const skip = isSanitized() && 'a sanitizer handles the signal';
  test('writes no core dump when it crashes, even without a limit for core dumps', { skip }, async (t) => {
    const folder = scratch(t);
    const die = (command, ready) => {
      const wait = `until ${ready}; do sleep 0.05; done`;
      const script = `ulimit -c unlimited; cd '${folder}'; ${command} & pid=$!; ${wait}; kill -SEGV $pid; wait $pid; echo $?`;
      const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8', timeout: HANG_MS });
      return { status: Number(stdout.trim().split('\n').at(-1)), dumped: /core dumped/.test(stderr) };
    };
    const control = die('sleep 100', 'true');
    const config = join(folder, 'config.yaml');
    const keys = [{ name: 'main', file: writeKey(folder), all_organizations: true }];
    const upstream = { base_url: 'http://127.0.0.1:1' };
    writeFileSync(config, JSON.stringify({ listen_address: '127.0.0.1:0', upstream, keys, callers: freeCaller() }));
    const { status, dumped } = die(
      `'${binary('gateway/stampgate')}' serve --config '${config}' >out 2>&1`,
      "grep -qs 'listening on' out",
    );
    assert.equal(status, 128 + 11);
    assert.match(readFileSync(join(folder, 'out'), 'utf8'), /listening on/);
    assert.ok(!dumped);
    t.diagnostic(
      control.dumped ? 'the control wrote a core dump' : 'on this machine not even the control writes a core dump',
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('core') && !control.dumped),
      [],
    );
  });
});
