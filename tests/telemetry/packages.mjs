// Loads the official reader of OTLP from the folder outside the tree into which deploy/install installs it.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('telemetry', 'tests/telemetry/package-lock.json');
const load = createRequire(join(folder, 'node_modules/anything.js'));

/** The messages of OTLP, generated from the published protos. */
export const { proto } = load(
  join(folder, 'node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js'),
).opentelemetry;
