/** Opens an installation's control group from the group of this process, prints the result, and removes it again. */
import { readFileSync } from "node:fs"
import { openCgroups } from "../cgroups/cgroups.js"

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
