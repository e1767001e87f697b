import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { fileURLToPath } from "node:url"
import { settingsFileVariable } from "@superstep/toolkit/config/settings-file"
import { processTree } from "@superstep/toolkit/exec/process-tree"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { buildState, startBuild, stopBuild } from "./build-process.js"
import { type BuildRequest, buildFiles } from "./build-request.js"
import type { BuildStep } from "./project/build-step.js"
import { build, limits, logOf, prepare, step, untilFinished } from "./testing/build.js"
import { builderBeside, isolatedUser } from "./testing/users.js"

const isRoot = process.getuid?.() === 0

test("a build installs, builds, loads the graphs and publishes a read-only artifact", async () => {
  const files = {
    "package.json": JSON.stringify({ name: "app", dependencies: { dep: "file:./dep" } }),
    "dep/package.json": JSON.stringify({ name: "dep", version: "1.0.0", main: "dep.js", type: "module" }),
    "dep/dep.js": "export const word = 'hello'\n",
    "chat.mjs": "import { word } from 'dep'\nexport const graph = word\n",
    ".env": "SECRET=committed",
  }
  const install: BuildStep = {
    ...step("install", ""),
    argv: ["npm", "install", "--no-audit", "--no-fund", "--offline"],
  }

  const { result, request, log } = await build(files, [install, step("build", "echo built > out.txt")])

  assert.deepEqual(
    result,
    { outcome: "published", graphs: ["chat"], langgraph_version: "1.4.12", lacks_schemas: false },
    log,
  )
  assert.equal(readFileSync(join(request.artifactFolder, "out.txt"), "utf8"), "built\n")
  assert.ok(!existsSync(join(request.artifactFolder, ".env")))
  assert.ok(!existsSync(request.tree))
  assert.equal(statSync(join(request.artifactFolder, "out.txt")).mode & 0o222, 0)
  assert.match(log, /a note[\s\S]*install: npm install[\s\S]*build: echo built[\s\S]*build finished/)
})

test("install and build commands see no secret; the graphs are loaded with them, and the log hides them", async () => {
  const files = {
    "chat.mjs":
      "console.log('key ' + process.env.MODEL_KEY)\nif (!process.env.MODEL_KEY) throw new Error('no key')\nexport const graph = 1\n",
  }

  const { result, log } = await build(files, [step("install", "env")], {}, { MODEL_KEY: "very-secret-value" })

  assert.equal(result.outcome, "published", log)
  assert.ok(!log.includes("very-secret-value"))
  assert.match(log, /key \[secret\]/)
  assert.ok(!log.includes("MODEL_KEY="))
  assert.ok(!log.includes("SUPERSTEP_"))
  assert.ok(!log.includes("DATABASE_URI"))
})

test("a multi-line secret is hidden, also in base64 and in the reason of a failure", async () => {
  const key = "-----BEGIN KEY-----\nfirst-line-of-it\nsecond-line-of-it\n-----END KEY-----"
  const files = {
    "chat.mjs": `const key = process.env.KEY
      console.log(key)
      console.log("encoded " + btoa(key))
      throw new Error("bad " + key)`,
  }

  const { result, log } = await build(files, [], {}, { KEY: key })

  const reported = log + JSON.stringify(result)
  assert.match(log, /encoded \[secret\]/)
  for (const part of [...key.split("\n"), btoa(key)]) assert.ok(!reported.includes(part), part)
  assert.equal(result.outcome, "failed")
  assert.match(result.outcome === "failed" ? result.message : "", /^graph "chat" does not load: bad (\[secret\]\n?)+$/)
})

test("all secrets together may exceed the size of an environment variable, and no file contains them afterwards", async () => {
  const agentEnv = Object.fromEntries(["A", "B", "C"].map((name) => [name, name.repeat(60_000)]))
  const files = {
    "chat.mjs": "export const { A, B, C } = process.env\nexport const graph = A + B + C\nconsole.log(graph.length)\n",
  }
  const { folder, request } = prepare(files, [])

  await startBuild(folder, request, agentEnv)
  const result = await untilFinished(folder)

  assert.equal(result.outcome, "published", logOf(folder))
  assert.match(logOf(folder), /^180000$/m)
  for (const name of readdirSync(folder)) assert.ok(!readFileSync(join(folder, name), "utf8").includes("AAAA"), name)
})

interface Project {
  readonly steps?: readonly BuildStep[]
  readonly limits?: Partial<typeof limits>
  /** Of `chat.mjs`. */
  readonly graph?: string
}

const missing: BuildStep = { ...step("build", ""), argv: ["no-such-program"] }
const nowhere: BuildStep = { ...step("build", "exit 7"), folder: "no-such-folder" }
const talking = step("build", "while true; do echo on; sleep 0.05; done")
const pathOf = "throw new Error('bad day: ' + import.meta.dirname + '/chat.mjs:3')\n"
const endless = "setInterval(() => {}, 1000)\nawait new Promise(() => {})\n"

const failures: readonly (readonly [what: string, code: string, words: RegExp, project: Project])[] = [
  ["an install command that fails", "install_failed", /exit code 7/, { steps: [step("install", "exit 7")] }],
  ["a build command", "build_command_failed", /was killed by SIGKILL/, { steps: [step("build", "kill -9 $$")] }],
  ["a program that is not there", "build_command_failed", /exit code 127/, { steps: [missing] }],
  ["a step that the machine cannot start", "internal", /could not be started/, { steps: [nowhere] }],
  ["a slow command", "build_timeout", /longer than 0\.3 s/, { steps: [talking], limits: { buildMs: 300 } }],
  [
    "silence",
    "build_timeout",
    /nothing for 0\.2 s/,
    { steps: [step("build", "sleep 60")], limits: { silenceMs: 200 } },
  ],
  ["a missing export", "graph_load_failed", /"chat" does not load: .*no export named graph/, { graph: "export {}" }],
  ["a graph that throws", "graph_load_failed", /bad day/, { graph: "throw new Error('bad day')" }],
  ["a path of the build in an error", "graph_load_failed", /not load: bad day: chat\.mjs:3$/, { graph: pathOf }],
  ["a graph that ends the process", "graph_load_failed", /exit code 5/, { graph: "process.exit(5)\n" }],
  [
    "endless loading",
    "load_timeout",
    /longer than 0\.5 s|printed nothing/,
    { graph: endless, limits: { verifyMs: 500 } },
  ],
]
for (const [what, code, words, { steps = [], limits: less, graph }] of failures) {
  test(`${what} is ${code}`, async () => {
    const files: Record<string, string> = graph === undefined ? {} : { "chat.mjs": graph }

    const { result, request, log } = await build(files, steps, { limits: { ...limits, ...less } })

    assert.equal(result.outcome, "failed", log)
    assert.equal(result.outcome === "failed" && result.error_code, code, log)
    assert.match(result.outcome === "failed" ? result.message : "", words)
    assert.ok(!existsSync(request.artifactFolder))
  })
}

test("a verification result that is a link, a pipe or invalid JSON is not read, and its content is not shown", async () => {
  const secret = join(temporaryFolder(), "master.key")
  writeFileSync(secret, "do-not-tell-me")
  const code = (command: string) => `
    import { execFileSync } from "node:child_process"
    execFileSync("sh", ["-c", ${JSON.stringify(command)}], { env: { RESULT: process.argv[3] } })
    process.exit(0)`
  const commands = [
    `ln -s ${secret} $RESULT`,
    `ln ${secret} $RESULT`,
    "mkfifo $RESULT",
    "echo '{\"graphs\": 1}' > $RESULT",
  ]

  for (const command of commands) {
    const { result, log } = await build({ "chat.mjs": code(command) }, [])

    assert.equal(result.outcome === "failed" && result.message, "the verification produced no readable result", command)
    assert.ok(!log.includes("do-not"), command)
  }
})

test("a second start finds the running build and does not affect it", async () => {
  const { folder, request } = prepare({}, [step("build", "echo once >> ../count && sleep 0.3")])
  await startBuild(folder, request, {})
  const before = readFileSync(buildFiles(folder).identity, "utf8")

  assert.equal((await buildState(folder)).state, "running")
  await untilFinished(folder)

  assert.equal(readFileSync(buildFiles(folder).identity, "utf8"), before)
  assert.equal(readFileSync(join(dirname(request.tree), "count"), "utf8"), "once\n")
})

test("a stopped build leaves no process, and a killed one is detected", async () => {
  const { folder, request } = prepare({}, [step("build", "touch ../runs && sleep 60")])
  await startBuild(folder, request, {})
  const { identity, step: stepFile } = buildFiles(folder)
  await until(() => existsSync(join(dirname(request.tree), "runs")) && existsSync(stepFile), { what: "the step runs" })
  const pidIn = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid
  const { pids } = processTree(pidIn(stepFile))
  assert.ok(pids.length >= 2, "the step and its command")

  process.kill(pidIn(identity), "SIGKILL")
  await until(async () => (await buildState(folder)).state === "vanished", { what: "the build has vanished" })
  await stopBuild(folder)

  await until(() => !pids.some(runs), { what: "its commands have ended too" })
})

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    // ESRCH or ENOENT: it has ended.
    return false
  }
}

test("as root, commands run as a user of the deployment's group, which alone may read the artifact", {
  skip: !isRoot,
}, async () => {
  const reader = isolatedUser(4321)
  const user = builderBeside(reader)
  const { folder, request } = prepare({}, [step("install", "id -u && touch made")], { user, reader })
  chmodSync(dirname(request.tree), 0o777)
  chmodSync(request.tree, 0o777)

  await startBuild(folder, request, {})
  const result = await untilFinished(folder)

  assert.equal(result.outcome, "published", logOf(folder))
  assert.match(logOf(folder), new RegExp(`^${user.uid}$`, "m"))
  const { uid, gid, mode } = statSync(request.artifactFolder)
  assert.deepEqual({ uid, gid, others: mode & 0o007 }, { uid: 0, gid: reader.gid, others: 0 })
})

test("a request that does not fit the schema starts nothing, and fails a build that finds it", async () => {
  const { folder, request } = prepare({}, [step("build", "exit 0")])
  const argv: readonly string[] = []
  const invalid = { ...request, plan: { steps: [{ ...step("build", ""), argv }] } } as unknown as BuildRequest
  const problem = /^the request of the build is invalid: plan steps 0 argv must NOT have fewer than 1 items$/

  await assert.rejects(startBuild(folder, invalid, {}), { message: problem })
  assert.deepEqual(await buildState(folder), { state: "absent" })

  const other = { ...request, plan: { steps: [{ ...step("build", ""), failure: "no_such_code" }] } }
  mkdirSync(folder)
  writeFileSync(buildFiles(folder).request, JSON.stringify(other))
  writeFileSync(buildFiles(folder).secrets, "{}")
  await once(
    spawn(process.execPath, [fileURLToPath(import.meta.resolve("@superstep/builder/build-main")), folder], {
      env: { [settingsFileVariable]: buildFiles(folder).secrets },
    }),
    "exit",
  )
  assert.deepEqual(await buildState(folder), {
    state: "finished",
    result: { outcome: "failed", error_code: "internal", message: "the build has an unknown error code: no_such_code" },
  })
})
