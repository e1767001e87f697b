/** Enables the controllers of control groups, from the root of the tree down, group by group. */
import { existsSync } from "node:fs"
import { mkdir, readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { type Controller, controllers, put } from "./cgroup.js"
import type { CgroupPlace } from "./cgroup-place.js"

/**
 * Enables the controllers that we want and may enable for the children of `folder`. Its ancestors keep what they enable.
 * @param folder  a group below the root that contains no process
 * @returns       why a wanted controller is missing there, as far as we can find out
 */
export async function enableControllers({ top, own }: CgroupPlace, folder: string): Promise<string | undefined> {
  const steps = relative(top, folder).split(sep)
  const problems: (string | undefined)[] = []
  for (let depth = 0; depth <= steps.length; depth++) {
    const group = join(top, ...steps.slice(0, depth))
    const offered = await wordsOf(group, "cgroup.controllers")
    const handed = await wordsOf(group, "cgroup.subtree_control")
    const missing = controllers.filter((it) => !handed.has(it))
    const wanted = missing.filter((it) => offered.has(it))
    problems.push(...missing.filter((it) => !offered.has(it)).map((it) => `${group} has no controller "${it}"`))
    if (wanted.length === 0) continue
    // At the root of our container all processes are ours.
    if (group === top && group === own) await moveMembers(group)
    if (await isInUse(group)) problems.push(`${group} has processes of its own`)
    else for (const controller of wanted) problems.push(await turnOn(group, controller))
  }
  // A controller that is missing at the root is missing all the way down.
  return problems.find((it) => it !== undefined)
}

export const handedDown = async (folder: string): Promise<ReadonlySet<Controller>> => {
  const handed = await wordsOf(folder, "cgroup.subtree_control")
  return new Set(controllers.filter((it) => handed.has(it)))
}

const turnOn = (group: string, controller: Controller): Promise<string | undefined> =>
  put(group, "cgroup.subtree_control", `+${controller}`).then(
    () => undefined,
    (error: Error) => error.message,
  )

/**
 * Whether it contains processes besides the groups below it. Then the kernel would enable only CPU, and make it a group of
 * threads, into whose children no process can be put. The root of the machine's tree, which has no type, may have both.
 */
const isInUse = async (group: string): Promise<boolean> =>
  existsSync(join(group, "cgroup.type")) && (await wordsOf(group, "cgroup.procs")).size > 0

// A process that is moved may start another one meanwhile.
const mostPasses = 3

async function moveMembers(group: string): Promise<void> {
  for (let pass = 0; pass < mostPasses && (await isInUse(group)); pass++) {
    const to = join(group, "superstep.main")
    await mkdir(to, { recursive: true })
    for (const pid of await wordsOf(group, "cgroup.procs")) {
      await put(to, "cgroup.procs", pid).catch((error: NodeJS.ErrnoException) => {
        // It has ended, or it cannot be moved: then the group stays in use.
        if (error.code !== "ESRCH" && error.code !== "EINVAL") throw error
      })
    }
  }
}

const wordsOf = async (group: string, file: string): Promise<ReadonlySet<string>> =>
  new Set((await readFile(join(group, file), "utf8")).split(/\s+/).filter(Boolean))
