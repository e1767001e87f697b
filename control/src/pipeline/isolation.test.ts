/** What a deployment can reach of others, and what remains after its deletion, with real processes and a real Postgres. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { builderBeside, isolatedUser } from "@superstep/machines/parts/isolation/isolation"
import { membersOf } from "@superstep/machines/process/cgroups/cgroup"
import { existingCgroups } from "@superstep/machines/process/cgroups/cgroups"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { shared } from "../testing/api.js"
import { testPlatform } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const isRoot = process.getuid?.() === 0

const platform = shared(() => platformWithRepository())

const deployed = new Set<string>()
const deploy = async (name: string, secrets: Record<string, string> = {}) => {
  const ids = await platform.serveRepository({ name, secrets })
  deployed.add(ids.deploymentId)
  const [unit] = await platform.db.rows<{ unit_id: string; artifact_id: string }>(sql`
    select u.unit_id, r.artifact_id from units u join revisions r using (revision_id)
    where u.deployment_id = ${ids.deploymentId}`)
  assert.ok(unit)
  return { ...ids, ...unit }
}
const databaseOf = (deploymentId: string) => `superstep_${deploymentId.replaceAll("-", "")}`
const shortOf = (unitId: string) => unitId.replaceAll("-", "").slice(-16)
const socketOf = (unitId: string) => join(machineFolders(platform.home).run, "units", `${shortOf(unitId)}.sock`)
const formerSocketOf = (unitId: string) => join(machineFolders(platform.home).run, shortOf(unitId), "u.sock")

const skip = isRoot ? false : "without root all deployments run as one user (machines/src/process/README.md)"
test("code of one deployment reaches nothing of another, nor of the platform", { skip }, async () => {
  const { home, run, units, artifacts, edge, edgeState, unitSockets } = machineFolders(platform.home)
  const victim = await deploy("victim", { MODEL_KEY: "the-victims-key" })
  const { pid } = JSON.parse(readFileSync(join(units, victim.unit_id, "pid.json"), "utf8")) as { pid: number }
  const own = new URL(platform.db.uri).pathname.slice(1)
  const probes = {
    sockets: [socketOf(victim.unit_id), ...adminSockets(run)],
    files: [
      join(artifacts, victim.artifact_id, "chat.mjs"),
      join(units, victim.unit_id, "out.log"),
      join(home, "master.key"),
      join(edge, "token.json"),
      join(edgeState, "table.json"),
      `/proc/${pid}/environ`,
      `/proc/${edgePid()}/environ`,
    ],
    folders: [
      home,
      units,
      run,
      unitSockets,
      edge,
      join(units, victim.unit_id, "tmp"),
      join(units, victim.unit_id, "data"),
    ],
    databases: [databaseOf(victim.deploymentId), own],
  }
  await deploy("thief", { FAKE_PROBES: JSON.stringify(probes) })

  const reply = await fetch(`${platform.agentsUrl}/d/thief/probe`, { headers: { "x-api-key": platform.apiKey } })
  const found = (await reply.json()) as Record<string, string>

  const asked = Object.values(probes).flat()
  assert.deepEqual(Object.keys(found).sort(), [...asked].sort())
  // 42501: it may not connect to that database; 28000: the embedded server rejects it there altogether.
  const refusals = new Set(["EACCES", "EPERM", "42501", "28000"])
  for (const [what, outcome] of Object.entries(found)) assert.ok(refusals.has(outcome), `${what}: ${outcome}`)
})

/** Sends requests over new and kept-alive connections, so that some of them are new to the unit as well. */
const askAtOnce = (url: string, init: RequestInit = {}) =>
  Promise.all(
    Array.from({ length: 8 }, async () => {
      const reply = await fetch(url, { ...init, headers: { "x-api-key": platform.apiKey, ...init.headers } })
      return { status: reply.status, revision: reply.headers.get("x-revision-id"), body: await reply.text() }
    }),
  )

const adminSockets = (run: string) => [join(run, "edge", "admin.sock"), join(run, "control", "wake.sock")]

/** A request that once started any command as root, before the edge had a token. */
const askForSuccessor = (url: string, marker: string) => {
  const successor = { argv: ["/bin/sh", "-c", `id > ${marker}`], env: {}, cwd: "/", output_file: "/dev/null" }
  const headers = { "content-type": "application/json" }
  return askAtOnce(`${url}/successor`, { method: "POST", headers, body: JSON.stringify(successor) })
}

test("code of a deployment cannot put another socket in the place of its own", { skip }, async () => {
  const { run } = machineFolders(platform.home)
  const victim = await deploy("other", {})
  const marker = join(platform.home, "made-by-the-platform")
  const targets = [...adminSockets(run), ...[socketOf(victim.unit_id), formerSocketOf(victim.unit_id)]]
  const targetFile = join(temporaryFolder(), "target")
  // All places where its socket may be: from its environment, in this release, and in former ones.
  const command = `
    short=$(echo $SUPERSTEP_SERVER_ID | tr -d - | tail -c 17)
    for path in "\${SUPERSTEP_LISTEN#unix:}" ${run}/$short/u.sock ${run}/units/$short.sock; do
      case $path in /*) ln -sfT $(cat ${targetFile}) $path;; esac
    done`
  const { revisionId } = await deploy("taker", { FAKE_COMMAND: command })
  const url = `${platform.agentsUrl}/d/taker`
  for (const target of targets) {
    writeFileSync(targetFile, target)
    await askAtOnce(`${url}/sh`)

    const answers = [...(await askAtOnce(`${url}/status`)), ...(await askForSuccessor(url, marker))]

    for (const answer of answers)
      assert.deepEqual([answer.status, answer.revision], [404, revisionId], `${target}: ${answer.body}`)
    assert.ok(!existsSync(marker), marker)
  }
})

test("the edge's admin and wake sockets answer nobody who does not know their secret", { skip }, async () => {
  const { run } = machineFolders(platform.home)
  const { unit_id: unitId } = await deploy("guest")
  const marker = join(platform.home, "made-by-the-edge")
  for (const target of adminSockets(run)) {
    // As if code of the deployment had found a way to do it.
    rmSync(socketOf(unitId))
    symlinkSync(target, socketOf(unitId))
    const url = `${platform.agentsUrl}/d/guest`
    const answers = [...(await askAtOnce(`${url}/status`)), ...(await askForSuccessor(url, marker))]

    // Kept-alive connections still lead to the unit, which has no such routes.
    const statuses = new Set(answers.map(({ status }) => status))
    assert.deepEqual(
      [...statuses].filter((status) => status !== 404),
      [401],
      target,
    )
  }
  assert.ok(!existsSync(marker))
})

const edgePid = () => {
  const { edge } = machineFolders(platform.home)
  return (JSON.parse(readFileSync(join(edge, "pid.json"), "utf8")) as { pid: number }).pid
}

const rightsOf = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/status`, "utf8").matchAll(
    /^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):[ \t]*(.*)$/gm,
  )
  return Object.fromEntries([...fields].map(([, name, value]) => [name, value?.trim()]))
}
const rightsAs = ({ uid, gid }: { uid: number; gid: number }) => {
  const four = (id: number) => Array(4).fill(id).join("\t")
  const none = { NoNewPrivs: "1", Groups: "", CapEff: "0".repeat(16), CapPrm: "0".repeat(16) }
  return { ...none, Uid: four(uid), Gid: four(gid) }
}
/** Files that neither the edge nor the control plane may read. */
const closedFiles = (unitId: string, artifactId: string): string[] => {
  const { home, units, artifacts, edge } = machineFolders(platform.home)
  return [
    ...["master.key", "id", "control.json"].map((name) => join(home, name)),
    ...["token.json", "pid.json", "out.log"].map((name) => join(edge, name)),
    ...["pid.json", "out.log", "tmp", "data"].map((name) => join(units, unitId, name)),
    ...[join(artifacts, artifactId, "chat.mjs"), "/etc/shadow"],
  ]
}

test("the edge is not root, nor is the next one, and reads only what is its own", { skip }, async () => {
  const { unit_id: unitId, artifact_id: artifactId } = await deploy("served", { MODEL_KEY: "not-for-the-edge" })
  const { uid, gid } = isolatedUser(0)
  const first = edgePid()
  assert.deepEqual(rightsOf(first), rightsAs({ uid, gid }))

  // A changed setting: this edge starts its successor.
  await platform.kill()
  await platform.start({ LOG_LEVEL: "info" })

  assert.notEqual(edgePid(), first)
  assert.deepEqual(rightsOf(edgePid()), rightsAs({ uid, gid }))
  const [answer] = await askAtOnce(`${platform.agentsUrl}/d/served/ok`)
  assert.equal(answer?.status, 200)
  for (const path of closedFiles(unitId, artifactId)) {
    const { stderr } = spawnSync("cat", [path], { uid, gid, encoding: "utf8" })
    assert.match(stderr, /Permission denied/, path)
  }
})

const controlPids = () => {
  const { pid: machine } = JSON.parse(readFileSync(join(platform.home, "control.json"), "utf8")) as { pid: number }
  const [control] = readFileSync(`/proc/${machine}/task/${machine}/children`, "utf8")
    .split(" ")
    .filter((pid) => pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("superstep control plane"))
  assert.ok(control)
  return { machine, control: Number(control) }
}
const isGone = (pid: number) => !existsSync(`/proc/${pid}/cwd`)

test("the control plane is not root, has no way to be, and reads only what is its own", { skip }, async () => {
  const { home, units, artifacts, work, cache, edge, edgeSockets } = machineFolders(platform.home)
  const { unit_id: unitId, artifact_id: artifactId } = await deploy("looked-after", { MODEL_KEY: "k" })
  const { machine, control } = controlPids()
  const user = builderBeside(isolatedUser(0))

  assert.deepEqual(rightsOf(control), rightsAs(user))
  assert.match(readFileSync(`/proc/${machine}/status`, "utf8"), /^Uid:\t0\t/m)
  // What git wrote belongs to the user that git ran as.
  assert.equal(statSync(join(home, "control", "git-home")).uid, user.uid)
  const ours = [`/proc/${machine}/environ`, home, units, work, cache, edgeSockets]
  const closed = [...closedFiles(unitId, artifactId), ...ours]
  for (const path of closed) {
    const { stderr } = spawnSync("ls", ["--", path], { ...user, encoding: "utf8" })
    const { stderr: read } = spawnSync("cat", [path], { ...user, encoding: "utf8" })
    assert.match(stderr + read, /Permission denied/, path)
  }
  for (const path of [home, units, artifacts, work, cache, edge]) {
    const { stderr } = spawnSync("touch", [join(path, "made-by-it")], { ...user, encoding: "utf8" })
    assert.match(stderr, /Permission denied/, path)
  }
})

test("machine process and control plane have one life, whichever is killed", {
  skip: skip || unlessWide("starts the platform twice"),
}, async () => {
  const first = controlPids()
  process.kill(first.control, "SIGKILL")
  await platform.untilDead()
  assert.ok(isGone(first.machine))

  await platform.start()
  const second = controlPids()
  process.kill(second.machine, "SIGKILL")
  await until(() => isGone(second.control), { what: "the control plane has ended" })
  await platform.untilDead()

  await platform.start()
  const [answer] = await askAtOnce(`${platform.agentsUrl}/d/looked-after/ok`)
  assert.equal(answer?.status, 200)
})

test("the API answers on a port that only root may bind", {
  skip: skip || unlessWide("starts the platform twice"),
}, async () => {
  await platform.kill()
  const port = await freeLowPort()
  await platform.start({ SUPERSTEP_PORT: String(port) })

  const reply = await fetch(`http://127.0.0.1:${port}/health`)

  assert.equal(reply.status, 200)
  await platform.kill()
  await platform.start()
})

/** A port below 1024 that nobody uses. */
async function freeLowPort(): Promise<number> {
  for (let port = 1023; port > 512; port--) {
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false))
      server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
  return assert.fail("all ports below 1024 are in use")
}

const cgroups = async () =>
  existingCgroups({ homeId: readFileSync(join(platform.home, "id"), "utf8"), home: platform.home })

/** What belongs to the platform on this machine and may outlive its processes: paths, control groups, databases, roles. */
async function everything() {
  const folders = machineFolders(platform.home)
  // Tests of other files use the same Postgres.
  const ours = [...deployed].map((id) => `${databaseOf(id)}%`)
  const databases = await platform.db.rows<{ name: string }>(sql`
    select datname as name from pg_database where datname like any(${ours})
    union all select rolname from pg_roles where rolname like any(${ours}) order by 1`)
  const paths = [...new Set([folders.home, folders.run])].flatMap(pathsBelow)
  const groups = ((await (await cgroups())?.names()) ?? []).sort()
  return { paths: paths.sort(), groups, databases: databases.map(({ name }) => name) }
}

const processesWith = (text: string): string[] =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes(text))

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1") + readFileSync(`/proc/${pid}/cmdline`, "latin1")
  } catch {
    // It has ended, or we may not read it; then it is not of this platform, whose processes run as us or our users.
    return ""
  }
}

const pathsBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => !staysFromFirstUse.test(path) && statSync(path, { throwIfNoEntry: false }) !== undefined)

const staysFromFirstUse = /\.log\.1$|\/git-home\/empty$|\/edge\/state\/table\.json$/

test("a deployment that is deleted leaves no process, control group, file, database, role or row", async () => {
  const former = await everything()
  const { deploymentId, unit_id: unitId } = await deploy("leaver", { MODEL_KEY: "k", FAKE_EATS_MB: "1" })
  const during = await everything()
  assert.ok(during.paths.some((path) => path.includes(unitId)))
  assert.ok(processesWith(unitId).length > 0)
  assert.ok(during.databases.includes(databaseOf(deploymentId)))
  // The unit keeps its group when the control plane dies, including what the graph started in a session of its own.
  await platform.kill()
  const group = (await cgroups())?.pathOf(`unit-${unitId}`)
  const members = group === undefined ? [] : await membersOf(group)
  if (group !== undefined) assert.equal(members.length, 2)
  await platform.start()

  await platform.call("DELETE", `/v2/deployments/${deploymentId}`)
  const gone = async () => (await platform.call("GET", `/v2/deployments/${deploymentId}`)).status === 404
  await until(gone, { what: "the deployment is gone" })

  const left = await everything()
  for (const kind of ["paths", "groups", "databases"] as const) {
    assert.deepEqual(
      left[kind].filter((one) => !former[kind].includes(one)),
      [],
      kind,
    )
  }
  // Without control groups, what a graph starts in a session of its own outlives it (docs/security.md).
  const alive = processesWith(unitId).map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
  const isOfGraph = ({ command }: { command: string }) => group === undefined && command.includes("globalThis.eaten")
  for (const { pid } of alive.filter(isOfGraph)) process.kill(pid, "SIGKILL")
  assert.deepEqual(
    alive.filter((it) => !isOfGraph(it)),
    [],
  )
  // A process that has ended but was not reaped yet has an empty command line.
  for (const pid of members) assert.equal(commandOf(String(pid)), "", `process ${pid}`)
  // The history of a deployment outlives it.
  const tables = await platform.db.rows<{ name: string }>(sql`
    select table_name as name from information_schema.columns
    where column_name = 'deployment_id' and table_schema = 'public' and table_name <> 'events'`)
  assert.ok(tables.length > 4)
  for (const { name } of tables) {
    const left = await platform.db.rows(sql`select from ${identifier(name)} where deployment_id = ${deploymentId}`)
    assert.deepEqual(left, [], name)
  }
})

test("with SUPERSTEP_ISOLATION=required, the platform starts only where deployments are isolated from each other", {
  skip: unlessWide("starts a platform"),
}, async () => {
  await using strict = await testPlatform()
  const closed = join(temporaryFolder(), "closed")
  mkdirSync(closed, { mode: 0o700 })
  const env = { SUPERSTEP_ISOLATION: "required" }
  const refusal =
    /SUPERSTEP_ISOLATION is "required": deployments are not isolated from each other.* or set SUPERSTEP_ISOLATION to "auto"/

  await assert.rejects(strict.start({ ...env, SUPERSTEP_HOME: join(closed, "home") }), refusal)
  if (isRoot) await strict.start(env)
  else await assert.rejects(strict.start(env), refusal)
})
