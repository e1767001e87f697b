/**
 * Runs test files with Node's test runner, each in a process of its own, in the order of the arguments. `node --test` would
 * sort them by name; if a slow file came last, all other processors would wait for it.
 * Usage: `node run-files.mjs <concurrency> <timeout of a file in milliseconds> <file>…`
 */
import { run } from "node:test"
import { spec as Spec } from "node:test/reporters"

const [concurrency, timeout, ...files] = process.argv.slice(2)

run({ files, concurrency: Number(concurrency), timeout: Number(timeout) })
  .on("test:fail", ({ name, todo, details: { error } }) => {
    if (todo === undefined || todo === false) process.exitCode = 1
    // Of a file; the reporter says only that it failed.
    if (error.signal) process.stdout.write(`✖ ${name} was ended by ${error.signal}\n`)
  })
  .compose(new Spec())
  .pipe(process.stdout)
