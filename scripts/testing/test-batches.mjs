/**
 * Decides which test files share a process. A process of its own costs a file more than half a second of processor time before its first test,
 * mostly for loading the same modules as other files; the tests of more than half of the files take less than that.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join, parse } from "node:path"
import { pathToFileURL } from "node:url"

const filesInBatch = 64
// Of files that start servers or installations, which take seconds: so all processors finish at about the same time.
const startingFilesInBatch = 16
// With their wide tests, which take up to some minutes: a file, and so a batch, has a time limit.
const wideFilesInBatch = 3

const costs = new URL("test-costs.mjs", import.meta.url).href
// What a failed test leaves open would hold its process until the time limit of a file, which is most of the time of a whole run.
const heldMs = 60_000

// A file that changes the process would affect the files after it, and one that measures the process is affected by those before it.
const needsOwnProcess = [
  /\bprocess\.(chdir|sete[ug]id|set[ug]id|umask|on|once|emit|exitCode|stdout|stderr|memoryUsage|cpuUsage)\b/,
  /\bprocess\.env(\.\w+|\[[^\]]*\])? (\?\?)?=(?!=)|\b(delete |assign\()process\.env\b/,
  /\bglobalThis\.\w+ = |\bmock\.|\bheapUsed\b/,
  /"node:(worker_threads|cluster)"/,
]
// Test helpers that start nothing outside of the process.
const harmless =
  /\/testing\/(until|fields-of|fresh-database|http-server|temporary-folder|test-cluster|test-unless|wide-tests|test-server|test-http|scripted-workers|api|rows|rows-read|as-anyone|seeded-random|hostile-requests|receiver|store-of|bag-of-words|cron|settings|tar-gz)(\.js)?"/g

// Tests that take minutes, some only where long tests run: in one process, together they could exceed that limit.
const isLong = (file, text, runsLong) =>
  /\.wide\.test\./.test(file) || (runsLong && /\b(unlessLong|runsLongTests)\b/.test(text))

// About so many times as long as another file takes one that starts programs, and one that runs its wide tests.
const heavier = 4

/** @param text  of a compiled test file */
export const canShareProcess = (text) => !needsOwnProcess.some((pattern) => pattern.test(text))

const startsPrograms = (text) => /\/testing\/|\/exec\/|"node:child_process"/.test(text.replaceAll(harmless, ""))

/**
 * Each file is a suite, so that its hooks apply to its own tests only.
 * @param files     paths relative to a checkout
 * @param checkout  the absolute path of the checkout
 * @param folder    for the modules that import the files of one batch each
 * @param wide      the files that run their wide tests
 * @param apart     each file has a process of its own
 * @param runsLong  long tests run, too
 * @param patience  how long a process may go on after its last test, in milliseconds
 * @returns         the modules for Node's test runner, the longest first, so that all processors finish at about the same time; those that take
 *                  about as long in the order of `files`. They write what files cost to `costs` in the folder
 */
export function inBatches(
  files,
  { checkout, folder, wide = new Set(), apart = false, runsLong = false, patience = heldMs },
) {
  const batches = []
  const open = new Map()
  for (const file of files) {
    const text = readFileSync(join(checkout, file), "utf8")
    const takesMinutes = isLong(file, text, runsLong)
    const isAlone = apart || takesMinutes || !canShareProcess(text)
    const isStarting = startsPrograms(text)
    const isWide = wide.has(file)
    const kind = `${packageOf(file)} ${isStarting} ${isWide}`
    const most = isStarting ? (isWide ? wideFilesInBatch : startingFilesInBatch) : filesInBatch
    let batch = isAlone ? undefined : open.get(kind)
    if (!batch || batch.files.length === most) {
      batch = { files: [], weight: 0 }
      batches.push(batch)
      if (!isAlone) open.set(kind, batch)
    }
    batch.files.push(file)
    batch.weight += takesMinutes ? Number.MAX_SAFE_INTEGER : (isStarting ? heavier : 1) * (isWide ? heavier : 1)
  }
  const longestFirst = batches.toSorted((one, other) => other.weight - one.weight)
  return longestFirst.map(({ files: batch }, index) => {
    // Its first file says where to look when all of its tests have passed and the process has failed.
    const path = join(folder, `${packageOf(batch[0]).replaceAll("/", "-")}-${index}-${parse(batch[0]).name}.mjs`)
    const suites = batch.map((file) => {
      const [name, url] = [file, pathToFileURL(join(checkout, file)).href].map((text) => JSON.stringify(text))
      return `describe(${name}, () => {\n  before(() => turnTo(${name}))\n  return import(${url})\n})\n`
    })
    const setting = `process.env.SUPERSTEP_WIDE_TESTS = "${wide.has(batch[0]) ? 1 : 0}"\n`
    const account = `const turnTo = accountOf(${JSON.stringify(join(folder, "costs"))}, "modules of ${packageOf(batch[0])}")\n`
    const end = `after(() => endSoon(${patience}))\n`
    const imports = `import { after, before, describe } from "node:test"\nimport { accountOf, endSoon } from ${JSON.stringify(costs)}\n`
    writeFileSync(path, `${imports}${setting}${account}${suites.join("")}${end}`)
    return path
  })
}

/** `server` for `server/dist/runs/queue.test.js`, `scripts` for `scripts/check.test.mjs`. */
const packageOf = (file) => file.split(/\/dist\/|\/[^/]+$/)[0]
