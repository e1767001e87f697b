/** Turns on what a control group may limit: each controller is handed down from the top of the tree, group by group. */
import { mkdir, readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { type Controller, controllers, put } from "./cgroup.js"
import type { CgroupPlace } from "./cgroup-place.js"

/**
 * Hands down to the children of `folder` what we want and may. Its ancestors keep what they hand down already.
 * @param folder  a group below the top that holds no process
 * @returns       why something that we want is missing there, as far as we can tell
 */
export async function handDown({ top, own }: CgroupPlace, folder: string): Promise<string | undefined> {
  const steps = relative(top, folder).split(sep)
  const problems: string[] = []
  for (let depth = 0; depth <= steps.length; depth++) {
    const group = join(top, ...steps.slice(0, depth))
    const offered = await wordsOf(join(group, "cgroup.controllers"))
    const handed = await wordsOf(join(group, "cgroup.subtree_control"))
    for (const controller of controllers.filter((it) => !handed.has(it))) {
      const problem = offered.has(controller)
        ? await turnOn(group, controller, group === top && group === own)
        : `${group} has no controller "${controller}" for cgroup v2`
      if (problem !== undefined) problems.push(problem)
    }
  }
  // What is missing at the top is missing all the way down.
  return problems[0]
}

export const handedDown = async (folder: string): Promise<ReadonlySet<Controller>> => {
  const handed = await wordsOf(join(folder, "cgroup.subtree_control"))
  return new Set(controllers.filter((it) => handed.has(it)))
}

// What is moved may start another process in the meantime.
const mostPasses = 3

/** @param isOurs  the group is the top of our container, and so are all processes in it */
async function turnOn(group: string, controller: Controller, isOurs: boolean): Promise<string | undefined> {
  const attempt = () =>
    put(group, "cgroup.subtree_control", `+${controller}`).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    )
  let error = await attempt()
  for (let pass = 0; isOurs && error?.code === "EBUSY" && pass < mostPasses; pass++) {
    await moveMembers(group, join(group, "superstep.main"))
    error = await attempt()
  }
  return error?.message
}

/** A group that hands down controllers has no processes of its own, unless it is the top of the whole machine. */
async function moveMembers(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const pid of await wordsOf(join(from, "cgroup.procs"))) {
    await put(to, "cgroup.procs", pid).catch((error: NodeJS.ErrnoException) => {
      // It has ended, or it cannot be moved: then the next attempt says that the group is busy.
      if (error.code !== "ESRCH" && error.code !== "EINVAL") throw error
    })
  }
}

const wordsOf = async (file: string): Promise<ReadonlySet<string>> =>
  new Set((await readFile(file, "utf8")).split(/\s+/).filter(Boolean))
