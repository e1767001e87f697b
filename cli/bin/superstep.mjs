#!/usr/bin/env node
/** A published package carries all our packages in `lib` (scripts/stage-package.mjs); in the repository there is `dist`. */
import { existsSync } from "node:fs"

const published = new URL("../lib/cli/dist/main.js", import.meta.url)
await import(existsSync(published) ? published.href : new URL("../dist/main.js", import.meta.url).href)
