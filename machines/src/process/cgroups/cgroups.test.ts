/** Where the installation's group is created, for several groups of the control plane; on a real tree of groups. */
import assert from "node:assert/strict"
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { json } from "node:stream/consumers"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { enteringArgv, makeGroup, membersOf, openProcsHandle, removeGroup } from "./cgroup.js"
import { openCgroups } from "./cgroups.js"
import { handedDown } from "./enable-controllers.js"

const program = fileURLToPath(new URL("../testing/open-cgroups.js", import.meta.url))
const somebody = { uid: 65_534, gid: 65_534 }
const noLimits = { memoryMb: undefined, cpu: undefined, processes: undefined }

const { cgroups, problem } = await openCgroups({ homeId: "tests of groups", home: temporaryFolder() }, undefined)
after(() => cgroups?.close())
const folder = cgroups?.folder ?? ""
const isRoot = process.getuid?.() === 0
const skip = !cgroups
  ? problem
  : isRoot
    ? !(await isReachable(dirname(program), somebody)) && "another user cannot read this program here"
    : "only root can make a tree for another user"

interface Told {
  readonly folder?: string
  readonly held: readonly string[]
  readonly problem?: string
  /** `/proc/self/cgroup` */
  readonly now: string
}

async function opened(child: ChildProcess): Promise<Told> {
  assert.ok(child.stdout)
  return (await json(child.stdout)) as Told
}

/** Opens the group as another user, from a process in the given group. */
async function openedFrom(group: string): Promise<Told> {
  await using procsHandle = await openProcsHandle(group)
  const [command, ...args] = enteringArgv([process.execPath, program])
  return await opened(spawn(command, args, { ...somebody, stdio: ["ignore", "pipe", "inherit", procsHandle.fd] }))
}

/** A tree as a service manager would create it. @param delegated  the groups that belong to the user */
async function tree(names: readonly string[], delegated: readonly string[]): Promise<AsyncDisposable> {
  const held = await handedDown(folder)
  for (const name of names) await makeGroup(join(folder, name), noLimits, held)
  for (const name of delegated) {
    for (const file of ["", "cgroup.procs", "cgroup.subtree_control"]) {
      chownSync(join(folder, name, file), somebody.uid, somebody.gid)
    }
  }
  const [top = ""] = names
  return { [Symbol.asyncDispose]: () => removeGroup(join(folder, top)) }
}

test("with a delegated tree the group is beside the service's, with all delegated controllers; one that is not readable is ignored", {
  skip,
}, async () => {
  await using _ = await tree(["service", "service/control", "service/closed"], ["service", "service/control"])
  chmodSync(join(folder, "service/closed"), 0o700)

  const reported = await openedFrom(join(folder, "service/control"))

  const beside = new RegExp(`^${join(folder, "service")}/superstep\\.[0-9a-f]{16}$`)
  assert.match(reported.folder ?? reported.problem ?? "", beside)
  assert.deepEqual(new Set(reported.held), cgroups?.held)
  assert.equal(existsSync(reported.folder ?? ""), false)
})

test("a service in the delegated group itself groups its processes and reports the missing limits", {
  skip,
}, async () => {
  await using _ = await tree(["service"], ["service"])

  const reported = await openedFrom(join(folder, "service"))

  assert.match(reported.folder ?? reported.problem ?? "", new RegExp(`^${join(folder, "service")}/superstep\\.`))
  assert.deepEqual(reported.held, [])
  assert.match(reported.problem ?? "", /DelegateSubgroup/)
})

test("without a writable group there is none, and the reason is reported", { skip }, async () => {
  await using _ = await tree(["service"], [])

  const reported = await openedFrom(join(folder, "service"))

  assert.equal(reported.folder, undefined)
  assert.match(reported.problem ?? "", /EACCES/)
})

test("a parent with processes of its own enables no controllers and is unchanged", { skip }, async () => {
  await using _ = await tree(["scope", "scope/inner"], ["scope", "scope/inner"])
  await using procsHandle = await openProcsHandle(join(folder, "scope"))
  const [command, ...args] = enteringArgv(["sleep", "600"])
  const neighbour = spawn(command, args, { stdio: ["ignore", "ignore", "inherit", procsHandle.fd] })
  await until(async () => (await membersOf(join(folder, "scope"))).length > 0, { what: "the neighbour is in" })

  const reported = await openedFrom(join(folder, "scope/inner"))
  const type = readFileSync(join(folder, "scope", "cgroup.type"), "utf8")
  neighbour.kill("SIGKILL")

  assert.match(reported.folder ?? "", new RegExp(`^${join(folder, "scope")}/superstep\\.`))
  assert.deepEqual(reported.held, [])
  assert.equal(type, "domain\n")
  if (cgroups?.held.size) assert.match(reported.problem ?? "", /scope has processes of its own/)
})

test("at the top of a container its processes are moved to make the group usable", { skip }, async () => {
  await using _ = await tree(["container"], [])
  await using procsHandle = await openProcsHandle(join(folder, "container"))
  const at = temporaryFolder()
  const script = 'mount -t cgroup2 none "$0" && exec "$@"'
  const [command, ...args] = enteringArgv([
    ...(["unshare", "--cgroup", "--mount", "sh", "-c", script, at] as const),
    ...[process.execPath, program],
  ])

  const reported = await opened(spawn(command, args, { stdio: ["ignore", "pipe", "inherit", procsHandle.fd] }))

  assert.match(reported.folder ?? reported.problem ?? "", new RegExp(`^${at}/superstep\\.`))
  assert.deepEqual(new Set(reported.held), cgroups?.held)
  assert.match(reported.now, cgroups?.held.size ? /^0::\/superstep\.main$/m : /^0::\/$/m)
})

test("a group with processes is found again, wherever the control plane is started", { skip }, async () => {
  const installation = { homeId: "found again", home: temporaryFolder() }
  const first = (await openCgroups(installation, undefined)).cgroups
  assert.ok(first)
  mkdirSync(first.pathOf("unit-1"))
  mkdirSync(first.pathOf("probe"))

  const second = (await openCgroups(installation, undefined)).cgroups
  await second?.close()

  assert.deepEqual(await second?.names(), ["unit-1"])
  await removeGroup(first.pathOf("unit-1"))
  await first.close()
  assert.equal(existsSync(first.folder), false)
})
