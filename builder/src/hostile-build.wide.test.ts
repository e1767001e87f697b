/**
 * Commands of a build are other people's code: limits they cannot exceed, processes they cannot leave behind, secrets
 * they cannot find.
 */
import assert from "node:assert/strict"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { startBuild } from "./build-process.js"
import type { BuildRequest } from "./build-request.js"
import { findConfinement } from "./confinement.js"
import { build, limits, logOf, prepare, step, untilFinished } from "./testing/build.js"
import { builderBeside, isolatedUser } from "./testing/users.js"

const isRoot = process.getuid?.() === 0
const isLinux = process.platform === "linux"
const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
const isGlibc = header.glibcVersionRuntime !== undefined
const { isNamespace } = await findConfinement({ PATH: process.env.PATH ?? "" })
const withoutNamespaces = !isNamespace && "this machine allows no process namespaces"

const failed = async (files: Record<string, string>, command: string, change: Partial<BuildRequest> = {}) => {
  const { result, log } = await build(files, [step("build", command)], change)
  assert.equal(result.outcome, "failed", log)
  return { code: result.outcome === "failed" && result.error_code, log, result }
}

test("memory of all processes of a step together is limited", { skip: !isLinux && "needs /proc" }, async () => {
  const hungry = "const all = []\nfor (;;) all.push(Buffer.alloc(16 * 1024 * 1024, 1))\n"

  const { code, result } = await failed({ "hungry.cjs": hungry }, "node hungry.cjs", {
    limits: { ...limits, memoryMb: 300 },
  })

  assert.equal(code, "build_oom", JSON.stringify(result))
  assert.match(JSON.stringify(result), /MB of memory; the limit of a build is 300 MB/)
})

test("a full JavaScript heap is reported as build_oom, whatever the exit code", async () => {
  const files = { "heap.cjs": "const all = []\nfor (;;) all.push(new Array(1e5).fill({}))\n" }

  const { code } = await failed(files, "node --max-old-space-size=32 heap.cjs || exit 1")

  assert.equal(code, "build_oom")
})

test("disk use is limited, for one file and for many, even if the command exits at once", async () => {
  const small = { limits: { ...limits, diskMb: 8 } }
  const one = 'require("fs").writeFileSync("big", Buffer.alloc(64 << 20))'
  const many = 'for (let i = 0; ; i++) require("fs").writeFileSync("file" + i, Buffer.alloc(1 << 20, 1))'
  const quick = 'for (let i = 0; i < 12; i++) require("fs").writeFileSync("file" + i, Buffer.alloc(1 << 20, 1))'

  for (const script of [one, many, quick]) {
    const { code, result } = await failed({ "fill.cjs": script }, "node fill.cjs", small)

    assert.equal(code, "build_too_big", JSON.stringify(result))
  }
})

test("a flood of output is cut to its start and its end, and the file stays small; an endless line is cut", async () => {
  const script = 'process.stdout.write("first\\n" + "noise\\n".repeat(2e6) + "last words\\n")\n'
  const { folder, request } = prepare({ "flood.cjs": script }, [step("build", "node flood.cjs && exit 3")])

  await startBuild(folder, request, {})
  const result = await untilFinished(folder)

  const log = logOf(folder)
  assert.equal(result.outcome === "failed" && result.error_code, "build_command_failed")
  assert.match(log, /^first$/m)
  assert.match(log, /lines left out: the log of a step is limited to 4096 KiB and its last lines/)
  assert.match(log, /^last words$/m)
  assert.ok(log.length < 8 * 1024 * 1024, String(log.length))
  const endless = await failed({ "line.cjs": 'process.stdout.write("x".repeat(5e7))' }, "node line.cjs && exit 1")
  assert.ok(endless.log.length < 200_000, String(endless.log.length))
})

test("processes that a step leaves behind are killed, however they try to escape", {
  skip: withoutNamespaces,
}, async () => {
  const ways = [
    "sleep 471 &",
    "setsid sleep 472 &",
    "env -i /bin/sh -c 'setsid setsid sleep 473 &'",
    "node -e \"require('child_process').spawn('sleep', ['474'], { detached: true, stdio: 'inherit' }).unref()\"",
    "sleep 0.3",
  ].join("\n")
  const { result, log } = await build({ "escape.sh": ways }, [step("install", "sh escape.sh")])

  assert.equal(result.outcome, "published", log)
  assert.deepEqual(await sleepers(/^sleep 47[1-4]$/), [])
})

const sleepers = async (pattern: RegExp): Promise<number[]> => {
  const found = readdirSync("/proc").filter((pid) => {
    try {
      return pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim())
    } catch {
      // It has ended since it was listed.
      return false
    }
  })
  const alive = await Promise.all(found.map(async (pid) => ((await identify(Number(pid))) ? [Number(pid)] : [])))
  return alive.flat()
}

test("a step sees no process but its own", { skip: withoutNamespaces }, async () => {
  const script = 'console.log("pids", require("fs").readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length)'

  const { log } = await build({ "look.cjs": script }, [step("install", "node look.cjs")])

  assert.match(log, /^pids [1-4]$/m)

  const end = await build({}, [step("install", "kill -9 -1")])
  assert.equal(end.result.outcome === "failed" && end.result.error_code, "install_failed", end.log)
})

test("as root, a step reaches no file of the platform or of another deployment", { skip: !isRoot }, async () => {
  const reader = isolatedUser(4322)
  const { folder, request } = prepare({}, [step("install", "sh ./look.sh")], { reader, user: builderBeside(reader) })
  const home = dirname(request.tree)
  const foreign = join(home, "foreign")
  mkdirSync(foreign)
  writeFileSync(join(foreign, "artifact"), "theirs")
  chmodSync(join(foreign, "artifact"), 0o640)
  chmodSync(home, 0o755)
  chmodSync(request.tree, 0o777)
  writeFileSync(
    join(request.tree, "look.sh"),
    `cat ${foreign}/artifact ${folder}/request.json ${folder}/secrets.json /proc/1/environ /etc/shadow
     echo x > ${foreign}/new ; echo x > ${folder}/result.json ; touch ${home}/new ; rm -rf ${folder}
     exit 0`,
  )

  await startBuild(folder, request, { MODEL_KEY: "secret-of-the-agent" })
  const result = await untilFinished(folder)

  const log = logOf(folder)
  assert.equal(result.outcome, "published", log)
  assert.doesNotMatch(log, /theirs|secret-of-the-agent|root:[*!]/)
  for (const name of [join(foreign, "new"), join(home, "new")]) assert.ok(!existsSync(name), name)
  assert.equal(statSync(join(foreign, "artifact")).uid, 0)
})

const reader = isRoot ? isolatedUser(4323) : null
const user = reader && builderBeside(reader)

test("a link or a pipe in place of langgraph.json is neither followed nor waited for", async () => {
  const outside = temporaryFolder()
  writeFileSync(join(outside, "langgraph.json"), "of-the-platform")
  mkdirSync(join(outside, "agent"))
  writeFileSync(join(outside, "agent", "langgraph.json"), "of-the-platform")
  const attacks = [
    `ln -sf ${outside}/langgraph.json agent/langgraph.json`,
    `mv agent away && ln -s ${outside}/agent agent`,
    "rm agent/langgraph.json && mkfifo agent/langgraph.json",
    "rm agent/langgraph.json && mkdir agent/langgraph.json",
    "head -c 2000000 /dev/zero > agent/langgraph.json",
  ]

  for (const attack of attacks) {
    const files = {
      "agent/langgraph.json": '{"graphs": {"chat": "./chat.mjs:graph"}}',
      "agent/chat.mjs": graphThat(attack),
    }
    const { result, log } = await build(files, [], { configPath: "agent/langgraph.json", user, reader })

    assert.equal(result.outcome === "failed" && result.error_code, "config_missing", `${attack}: ${log}`)
    assert.doesNotMatch(log + JSON.stringify(result), /of-the-platform/)
  }
})

const graphThat = (command: string) => `
  import { execFileSync } from "node:child_process"
  import { dirname } from "node:path"
  execFileSync("sh", ["-c", ${JSON.stringify(command)}], { cwd: dirname(import.meta.dirname), stdio: "inherit" })
  export const graph = {}\n`

test("pipes and sockets that a project creates are not part of the artifact", async () => {
  const { result, request, log } = await build({}, [step("build", "mkdir sub && mkfifo sub/pipe pipe")], {
    user,
    reader,
  })

  assert.equal(result.outcome, "published", log)
  assert.deepEqual(readdirSync(join(request.artifactFolder, "sub")), [])
  assert.ok(!existsSync(join(request.artifactFolder, "pipe")))
})

test("no program that runs as root sees the variables of a deployment", {
  skip: (!isRoot && "needs root") || withoutNamespaces || (!isGlibc && "needs a loader that says what it does"),
}, async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o777)
  // With this variable the loader of every program writes a file with its pid in the name, so its owner shows who runs it.
  const agentEnv = { LD_DEBUG: "files", LD_DEBUG_OUTPUT: join(folder, "loaded") }
  const user = builderBeside(isolatedUser(4501))

  const { result, log } = await build({}, [step("build", "true")], { user, reader: isolatedUser(4501) }, agentEnv)

  assert.equal(result.outcome, "published", log)
  const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid)
  assert.ok(owners.length > 0, "the graphs are loaded with them")
  assert.deepEqual([...new Set(owners)], [user.uid])
})

test("as root, the kernel limits the number of processes of a build", {
  skip: (!isRoot && "needs root") || withoutNamespaces,
}, async () => {
  const reader = isolatedUser(4502)
  const look = step("build", "grep processes /proc/self/limits")

  const { log } = await build({}, [look], { user: builderBeside(reader), reader })

  const [, soft, hard] = /^Max processes +(\d+) +(\d+)/m.exec(log) ?? []
  assert.ok(Number(soft) <= 4096 && soft === hard, log)
})
