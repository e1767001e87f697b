#!/usr/bin/env node
/** A published package carries all our packages in `lib` (scripts/releases/stage-package.mjs); in the repository there is `programs`. */
import { existsSync } from "node:fs"

const programs = ["../lib/cli/programs/main.js", "../programs/main.js"].map((path) => new URL(path, import.meta.url))
const program = programs.find((path) => existsSync(path))
if (program) await import(program.href)
else {
  process.stderr.write("✖ this clone is not compiled yet: npm start does it, or npm install && npm run build\n")
  process.exitCode = 1
}
