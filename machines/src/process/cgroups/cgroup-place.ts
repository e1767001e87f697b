/**
 * Finds the place in the cgroup v2 tree for the group of an installation. Pure.
 *
 * A group that contains processes cannot set limits for groups below it, so the installation's group is created beside the
 * control plane's own: no process has to be moved, and a service manager can start the control plane in the same place again.
 */
import { dirname, join } from "node:path"

export interface CgroupPlace {
  /** The root of the tree as mounted here: the machine's, or a container's. */
  readonly top: string
  /** The control plane's own group. */
  readonly own: string
}

/**
 * @param mountinfo  the text of `/proc/self/mountinfo` (proc(5))
 * @param cgroup     the text of `/proc/self/cgroup` (cgroups(7))
 * @returns          undefined when no cgroup v2 is mounted that has our own group in it
 */
export function placeOf(mountinfo: string, cgroup: string): CgroupPlace | undefined {
  const own = cgroup
    .split("\n")
    .find((line) => line.startsWith("0::/"))
    ?.slice("0::".length)
  if (own === undefined) return undefined
  for (const { root, top } of mountinfo.split("\n").flatMap(cgroupMount)) {
    const below = belowRoot(root, own)
    if (below !== undefined) return { top, own: join(top, below) }
  }
  return undefined
}

/** The parent of the installation's group. Nothing above the root is visible; if our own group is the root, it is that group. */
export const parentOf = ({ top, own }: CgroupPlace): string => (own === top ? top : dirname(own))

function cgroupMount(line: string): { root: string; top: string }[] {
  const fields = line.split(" ")
  const type = fields[fields.indexOf("-") + 1]
  const [, , , root, top] = fields
  return type === "cgroup2" && root !== undefined && top !== undefined ? [{ root: plain(root), top: plain(top) }] : []
}

/** A path that leads out of the mounted tree (`/..`) is not below it. */
function belowRoot(root: string, own: string): string | undefined {
  if (own.startsWith("/..") || root.startsWith("/..")) return undefined
  const folder = root === "/" ? "" : root
  return own === root ? "" : own.startsWith(`${folder}/`) ? own.slice(folder.length) : undefined
}

/** Decodes blanks and the like, which are written as octal numbers. */
const plain = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
