/**
 * Runs test files with Node's test runner, each in a process of its own, in the order of the arguments. `node --test` would
 * sort them by name; if a slow file came last, all other processors would wait for it.
 * Usage: `node run-files.mjs <concurrency> <timeout of a file in milliseconds> <file>…`
 */
import { run } from "node:test"
import { spec as Spec } from "node:test/reporters"

const [concurrency, timeout, ...files] = process.argv.slice(2)

run({ files, concurrency: Number(concurrency), timeout: Number(timeout) })
  .on("test:fail", ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1
  })
  .compose(new Spec())
  .pipe(process.stdout)
