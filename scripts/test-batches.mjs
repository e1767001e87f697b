/**
 * Decides which test files share a process. A process of its own costs a file half a second before its first test, mostly for
 * loading the same modules as other files; the tests of more than half of the files take less than that.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const filesInBatch = 8

// Hooks outside of a test would apply to the whole batch, and changes of the process would affect the files after it. Files
// that start programs, servers or installations take long, and should run concurrently.
const needsOwnProcess = [
  /^(before|after|beforeEach|afterEach)\(/m,
  /\bprocess\.(env|chdir|cwd|on|once|emit|exit|exitCode|stdout|stderr|memoryUsage|cpuUsage)\b/,
  /\bglobalThis\.\w+ = |\bmock\.|\bheapUsed\b/,
  /"node:(child_process|worker_threads|cluster)"|\/exec\//,
]
// Test helpers that start nothing outside of the process.
const harmless =
  /\/testing\/(until|fresh-database|temporary-folder|test-cluster|wide-tests|test-server|test-http|scripted-workers|api|rows|rows-read|as-anyone|seeded-random|hostile-requests|receiver|store-of|bag-of-words|cron|settings|tar-gz)(\.js)?"/g

// Tests that take minutes: in one process, together they could exceed the time limit of a file.
const takesMinutes = /\/dist\/(chaos|soak)\//

/** @param text  of a compiled test file */
export const canShareProcess = (text) =>
  !needsOwnProcess.some((pattern) => pattern.test(text)) && !text.replaceAll(harmless, "").includes("/testing/")

/**
 * @param files     paths relative to a checkout
 * @param checkout  the absolute path of the checkout
 * @param folder    for the modules that import the files of one batch each
 * @returns         the files for Node's test runner, in the order of `files`
 */
export function inBatches(files, { checkout, folder }) {
  const batches = []
  const open = new Map()
  for (const file of files) {
    const name = packageOf(file)
    const isAlone = takesMinutes.test(file) || !canShareProcess(readFileSync(join(checkout, file), "utf8"))
    const batch = isAlone ? undefined : open.get(name)
    if (batch && batch.length < filesInBatch) batch.push(file)
    else {
      batches.push([file])
      if (!isAlone) open.set(name, batches.at(-1))
    }
  }
  return batches.map((batch, index) => {
    if (batch.length === 1) return batch[0]
    const path = join(folder, `${packageOf(batch[0]).replaceAll("/", "-")}-${index}.test.mjs`)
    const imports = batch.map((file) => `import ${JSON.stringify(pathToFileURL(join(checkout, file)).href)}\n`)
    writeFileSync(path, imports.join(""))
    return path
  })
}

/** `server` for `server/dist/runs/queue.test.js`, `scripts` for `scripts/check.test.mjs`. */
const packageOf = (file) => file.split(/\/dist\/|\/[^/]+$/)[0]
