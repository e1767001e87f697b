/**
 * The control group of an installation, with one group below it for each unit. Groups are found by name, so units that
 * outlive a control plane keep theirs.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { access, mkdir, readFile, rmdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import {
  type Controller,
  controllers,
  enteringArgv,
  groupsIn,
  makeGroup,
  openProcsHandle,
  removeGroup,
} from "./cgroup.js"
import { type CgroupPlace, parentOf, placeOf } from "./cgroup-place.js"
import { enableControllers, handedDown } from "./enable-controllers.js"

export interface Cgroups {
  /** The limits that the kernel enforces for groups. Even without any, a group keeps its processes together. */
  readonly held: ReadonlySet<Controller>
  /** The installation's own group. */
  readonly folder: string
  pathOf(name: string): string
  /** Names of all groups of units. */
  names(): Promise<string[]>
  /** Deletes the installation's group, unless it is not empty. */
  close(): Promise<void>
}

export interface CgroupsFound {
  readonly cgroups: Cgroups | undefined
  /** Why there are no groups, or not all controllers, as text with a remedy where we know one. */
  readonly problem: string | undefined
}

/** Distinguishes an installation from others on this machine: a restored one has the id of the one backed up. */
export interface Installation {
  readonly homeId: string
  readonly home: string
}

/** Pure. */
const groupNameOf = ({ homeId, home }: Installation): string =>
  `superstep.${createHash("sha256").update(`${homeId}\n${home}`).digest("hex").slice(0, 16)}`

/**
 * Finds the installation's group, or creates it.
 * @param user  a user that units run as; undefined for our own
 */
export async function openCgroups(installation: Installation, user: OsUser | undefined): Promise<CgroupsFound> {
  if (process.platform !== "linux") return without("only Linux has control groups")
  const place = await ourPlace()
  if (!place) return without("cgroup v2 is not mounted here")
  try {
    const folder = await installationGroup(place, groupNameOf(installation))
    const problem = isBelowUs(place, folder) ? aloneInOwn(place) : await enableControllers(place, folder)
    const held = await handedDown(folder)
    await tryOut(join(folder, "probe"), held, user)
    return { cgroups: cgroupsIn(folder, held), problem: held.size < controllers.length ? problem : undefined }
  } catch (error) {
    return without(error instanceof Error ? error.message : String(error))
  }
}

/** The group that a control plane of this installation created; undefined when there is none. */
export async function existingCgroups(installation: Installation): Promise<Cgroups | undefined> {
  const place = process.platform === "linux" ? await ourPlace() : undefined
  const [folder] = place ? await groupsNamed(place.top, groupNameOf(installation)) : []
  return folder === undefined ? undefined : cgroupsIn(folder, await handedDown(folder))
}

const ourPlace = async (): Promise<CgroupPlace | undefined> =>
  placeOf(await readFile("/proc/self/mountinfo", "utf8"), await readFile("/proc/self/cgroup", "utf8"))

const without = (problem: string): CgroupsFound => ({ cgroups: undefined, problem })

const cgroupsIn = (folder: string, held: ReadonlySet<Controller>): Cgroups => ({
  held,
  folder,
  pathOf: (name) => join(folder, name),
  names: () => groupsIn(folder),
  close: async () => {
    await isRemoved(folder)
  },
})

/**
 * The group that a former control plane created, while something is in it, wherever that one was started; else a new one
 * beside our own group, or below it where we may not write elsewhere.
 */
async function installationGroup(place: CgroupPlace, name: string): Promise<string> {
  for (const folder of await groupsNamed(place.top, name)) {
    await removeGroup(join(folder, "probe"))
    if (!(await isRemoved(folder))) return folder
  }
  const beside = join(parentOf(place), name)
  const below = join(place.own, name)
  return mkdir(beside).then(
    () => beside,
    async (error: NodeJS.ErrnoException) => {
      if (below === beside || !["EACCES", "EPERM"].includes(error.code ?? "")) throw error
      await mkdir(below)
      return below
    },
  )
}

/** Our own group contains our own process, so it cannot set limits for groups below it, unless it is the root of the tree. */
const isBelowUs = ({ own, top }: CgroupPlace, folder: string): boolean => own !== top && dirname(folder) === own

const aloneInOwn = ({ own }: CgroupPlace): string =>
  `${own} contains the control plane itself, and its parent may not be changed: let the service manager start the control plane one group below it (systemd: Delegate=yes, DelegateSubgroup=control)`

async function isRemoved(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return true
    if (code === "EBUSY" || code === "ENOTEMPTY") return false
    throw error
  }
}

/** Searches below a folder. Groups of other users may be closed to us: none of ours is in there. */
async function groupsNamed(folder: string, name: string): Promise<string[]> {
  const found: string[] = []
  for (const it of await groupsIn(folder).catch(ifCode(["EACCES", "EPERM"], []))) {
    const path = join(folder, it)
    found.push(...(it === name ? [path] : await groupsNamed(path, name)))
  }
  return found
}

/** Tests with a process: the right to create a group does not imply the right to put that user's process into it. */
async function tryOut(path: string, held: ReadonlySet<Controller>, user: OsUser | undefined): Promise<void> {
  await makeGroup(path, { memoryMb: undefined, cpu: 1, processes: 16 }, held)
  try {
    await access(join(path, "cgroup.kill")).catch(() => {
      throw new Error("this kernel cannot kill a control group as a whole: version 5.14 or newer is required")
    })
    await using procsHandle = await openProcsHandle(path)
    const [program, ...args] = enteringArgv(["true"])
    const child = spawn(program, args, { ...user, stdio: ["ignore", "ignore", "pipe", procsHandle.fd] })
    const stderr = child.stderr ? text(child.stderr) : ""
    const [code] = (await once(child, "exit")) as [number | null]
    if (code !== 0) throw new Error(`no process can be moved into ${path}: ${(await stderr).trim()}`)
  } finally {
    await removeGroup(path)
  }
}
