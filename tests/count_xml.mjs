// Counts the test cases of the XML reports that a `bazel test` with --build_event_text_file wrote, and prints
// "PASSED FAILED SKIPPED". A target without a readable report counts as one case, which failed unless Bazel says that it
// passed.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const events = readFileSync(process.argv[2], 'utf8');
let passed = 0;
let failed = 0;
let skipped = 0;

for (const block of events.split(/^event \{$/m)) {
  if (!/^ {2}test_result \{$/m.test(block)) continue;
  const ok = /^ {4}status: PASSED$/m.test(block);
  const xml = /uri: "(file:[^"]*test\.xml)"/.exec(block);
  let report = '';
  try {
    report = readFileSync(fileURLToPath(xml[1]), 'utf8');
  } catch {
    // Counted below.
  }
  // GoogleTest's cases: <testcase ... /> or <testcase ...>...</testcase>.
  const cases = report.match(/<testcase\b[^>]*?(?:\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const bad = cases.filter((text) => /<(failure|error)\b/.test(text)).length;
  const out = cases.filter((text) => /result="(skipped|suppressed)"|<skipped\b/.test(text)).length;
  failed += bad;
  skipped += out;
  passed += cases.length - bad - out;
  if (!ok && bad === 0) failed += 1;
  if (ok && cases.length === 0) passed += 1;
}
console.log(`${passed} ${failed} ${skipped}`);
