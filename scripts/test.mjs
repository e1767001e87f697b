/**
 * `npm test [-- words]`: builds, starts one embedded Postgres for the run, and runs the test files with Node's test runner,
 * after whose summary it prints how long the run took and which files used most processor time. Words select files by a part of their path: `npm test -- edge`. With `--newest` the tests,
 * their graphs and their clients use the newest LangGraph (tests/newest). Files that end with `.wide.test.js` are left out unless
 * SUPERSTEP_WIDE_TESTS is 1, or K/N for one of N shares of them (toolkit/src/testing/wide-tests.ts).
 */
import { spawn } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join, relative } from "node:path"
import { processesLeftBehind } from "./processes.mjs"
import { explain, filesBelow, packages, root, SetupFailed, setUp } from "./setup.mjs"
import { makeNewestCheckout } from "./testing/newest-packages.mjs"
import { inBatches } from "./testing/test-batches.mjs"
import { mostExpensive, processorSeconds } from "./testing/test-costs.mjs"
import { chosenFiles, filesWithWideTests } from "./testing/test-order.mjs"

// A file that hangs fails after this time. The slowest files take a minute or two on two idle cores, and much longer on a
// busy machine; the kills of the long tests (tests/src/chaos) take some minutes.
const fileTimeoutMs = 1_200_000
// How long a process that was asked to stop may take before it counts as left behind.
const patienceMs = 5000

async function test(args) {
  const begin = performance.now()
  const words = args.filter((word) => word !== "--newest")
  await setUp()
  const all = testFiles()
  const wide = filesWithWideTests(all, process.env.SUPERSTEP_WIDE_TESTS)
  const { files, leftOut } = chosenFiles(all, { words, wide })
  if (leftOut.length > 0)
    process.stdout.write(`files of wide tests that are left out: ${leftOut.length}; SUPERSTEP_WIDE_TESTS=1 adds them\n`)
  if (files.length === 0) throw new SetupFailed(`no test file that may start has ${words.join(" or ")} in its path`)
  const tmp = temporaryFolder()
  const checkout = args.includes("--newest") ? await newestCheckout(tmp) : root
  process.env.SUPERSTEP_TEST_PORTS = portsFolder(tmp)
  const stop = await startPostgres(tmp)
  try {
    const code = await runFiles(files, { wide, cwd: checkout, tmp })
    if (code !== 0) process.exitCode = 1
  } finally {
    await stop()
    printCosts(join(tmp, "costs"), performance.now() - begin)
    await endLeftovers(tmp)
    rmSync(tmp, { recursive: true, force: true })
  }
}

/** Compiled tests of the packages, and tests of these scripts; relative to the root. */
function testFiles() {
  const compiled = packages().flatMap((folder) => filesBelow(join(root, folder, "dist")))
  return [...compiled, ...filesBelow(join(root, "scripts"))]
    .filter((file) => /\.test\.m?js$/.test(file))
    .map((file) => relative(root, file))
}

/**
 * Contains everything that the run writes. The path is short, since paths of sockets below it must stay under 100 bytes, and
 * all users may enter it, since a run as root starts Postgres and deployments as other users.
 */
function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "st-"))
  chmodSync(folder, 0o1777)
  return folder
}

/** For the ports that tests have got (toolkit/src/testing/free-port.ts), also those that run as another user. */
function portsFolder(tmp) {
  const folder = join(tmp, "ports")
  mkdirSync(folder)
  chmodSync(folder, 0o1777)
  return folder
}

const memoryFolder = "/dev/shm"
const memoryPrefix = "superstep-test-"
// Some thirty databases of 8 MB each exist at a time, with as much data that is not written back yet.
const memoryBytes = 2 ** 30

/**
 * Tests create and drop more than a thousand databases, which is slow on a disk.
 * @returns  a folder in memory, if the machine has enough; removes folders of killed runs first
 */
function databaseFolder() {
  if (!existsSync(memoryFolder)) return undefined
  for (const name of readdirSync(memoryFolder).filter((name) => name.startsWith(memoryPrefix))) {
    const [pid] = name.slice(memoryPrefix.length).split("-")
    if (!existsSync(`/proc/${pid}`)) rmSync(join(memoryFolder, name), { recursive: true, force: true })
  }
  const { bavail, bsize } = statfsSync(memoryFolder)
  if (bavail * bsize < memoryBytes) return undefined
  const folder = mkdtempSync(join(memoryFolder, `${memoryPrefix}${process.pid}-`))
  chmodSync(folder, 0o755)
  return folder
}

/**
 * Starts the Postgres that all files share, on a copy of a prepared cluster. Tests with a Postgres of their own copy the same
 * cluster (toolkit/src/testing/prepared-cluster.ts).
 * @returns  a function that stops it and removes its folder
 */
async function startPostgres(tmp) {
  if (process.env.SUPERSTEP_TEST_DATABASE_URI) return () => undefined
  const toolkit = join(root, "toolkit/dist")
  if (!existsSync(join(toolkit, "postgres/start-postgres.js")))
    throw new SetupFailed("toolkit is not compiled: npm run build")
  const { createLog } = await import(join(toolkit, "log/log.js"))
  const postgres = await import(join(toolkit, "postgres/start-postgres.js"))
  const log = createLog({ process: "test", level: "silent" })
  const { preparedCluster } = await import(join(toolkit, "testing/prepared-cluster.js"))
  process.env.SUPERSTEP_TEST_CLUSTER = join(tmp, "cluster")
  await postgres.makeCluster(process.env.SUPERSTEP_TEST_CLUSTER)
  const folder = await preparedCluster(databaseFolder() ?? join(tmp, "database"))
  const running = await postgres.startPostgres({ folder, log, stopWithParent: true, isDisposable: true })
  process.env.SUPERSTEP_TEST_DATABASE_URI = running.superuserUri
  // Stored anew, with the iterations of a disposable Postgres: a connection costs both sides a third less, and a run has thousands.
  const { withClient } = await import(join(toolkit, "db/with-client.js"))
  const password = decodeURIComponent(/:([^:@]*)@/.exec(running.superuserUri)[1])
  await withClient(running.superuserUri, (client) => client.query(`alter role postgres password '${password}'`))
  return async () => {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function newestCheckout(tmp) {
  const folder = join(tmp, "newest")
  const packages = await makeNewestCheckout(folder)
  process.stdout.write(`with ${packages.join(", ")}\n`)
  return folder
}

/** Files often wait for processes and timers, so two more files than there are processors run at a time, on a small machine. */
const filesAtOnce = Math.min(4, availableParallelism() + 2)

function runFiles(files, { wide, cwd, tmp }) {
  const runner = join(root, "scripts/testing/run-files.mjs")
  // The cluster of an acceptance test on Kubernetes belongs to the process of its file.
  const apart = process.env.SUPERSTEP_TEST_MACHINE !== undefined
  const runsLong = process.env.SUPERSTEP_LONG_TESTS === "1"
  const starts = inBatches(files, { checkout: cwd, folder: tmp, wide, apart, runsLong })
  // Node passes its own options to the process of each file.
  const args = ["--enable-source-maps", runner, filesAtOnce, fileTimeoutMs, ...starts].map(String)
  // Tests must not depend on the runner that started them, or on the user's own settings.
  const { NODE_TEST_CONTEXT, SUPERSTEP_HOME, DATABASE_URI, SUPERSTEP_WIDE_TESTS, ...env } = process.env
  const child = spawn(process.execPath, args, { cwd, stdio: "inherit", env: { ...env, TMPDIR: tmp } })
  // Then Postgres and all that the tests started are ended below.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code ?? 1))
  })
}

const printedFiles = 10

/** The total has also the shared Postgres, which works for all files, and the start of processes. */
function printCosts(table, durationMs) {
  if (!existsSync(table)) return
  const files = mostExpensive(readFileSync(table, "utf8"))
  const lines = files
    .slice(0, printedFiles)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}\n`)
  process.stdout.write(
    `npm test: ${(durationMs / 60_000).toFixed(1)} min, and ${(processorSeconds() / 60).toFixed(1)} min of processor time; most of it in\n${lines.join("")}`,
  )
  if (process.env.SUPERSTEP_TEST_COSTS) copyFileSync(table, process.env.SUPERSTEP_TEST_COSTS)
}

/** A process that a test left behind is a bug of that test: it is printed, killed, and fails the run. */
async function endLeftovers(tmp) {
  const left = await processesLeftBehind(tmp, patienceMs)
  for (const { pid, command } of left) {
    process.stderr.write(`left behind by a test: process ${pid} ${command}\n`)
    process.exitCode = 1
    try {
      process.kill(pid, "SIGKILL")
    } catch (error) {
      if (error.code !== "ESRCH") throw error
    }
  }
}

await test(process.argv.slice(2)).catch(explain)
