/** Opens an installation's control group from wherever this process was put, prints what came of it, and leaves nothing. */
import { readFileSync } from "node:fs"
import { openCgroups } from "../cgroups.js"

const { cgroups, problem } = await openCgroups({ homeId: "test", home: String(process.pid) }, undefined)
process.stdout.write(
  JSON.stringify({
    folder: cgroups?.folder,
    held: [...(cgroups?.held ?? [])],
    problem,
    now: readFileSync("/proc/self/cgroup", "utf8"),
  }),
)
await cgroups?.close()
