/**
 * Where in the tree of control groups (cgroup v2) an installation may have one of its own. Pure.
 *
 * A group that holds processes cannot give limits to groups below it, so the installation's is made beside the control
 * plane's own: then nobody has to be moved, and a service manager can go on starting the control plane where it did.
 */
import { dirname, join } from "node:path"

export interface CgroupPlace {
  /** The top of the tree as it is mounted here: the machine's, or a container's. */
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

/** Whose child the installation's group becomes. Above the top nobody can look; there it is our own group. */
export const parentOf = ({ top, own }: CgroupPlace): string => (own === top ? top : dirname(own))

function cgroupMount(line: string): { root: string; top: string }[] {
  const fields = line.split(" ")
  const type = fields[fields.indexOf("-") + 1]
  const [, , , root, top] = fields
  return type === "cgroup2" && root !== undefined && top !== undefined ? [{ root: plain(root), top: plain(top) }] : []
}

/** A path that leads out of what is mounted (`/..`) is not below it. */
function belowRoot(root: string, own: string): string | undefined {
  if (own.startsWith("/..") || root.startsWith("/..")) return undefined
  const folder = root === "/" ? "" : root
  return own === root ? "" : own.startsWith(`${folder}/`) ? own.slice(folder.length) : undefined
}

/** Blanks and the like are written as octal numbers. */
const plain = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
