import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { workerCommand } from "./worker-command.js"

const nodeVersion = Number(process.versions.node.split(".")[0])

test("SIGUSR1 opens no inspector in a worker", { skip: nodeVersion < 24 && "Node 24 has the option" }, async () => {
  const main = join(temporaryFolder(), "main.mjs")
  writeFileSync(
    main,
    `import { url } from "node:inspector"
    process.kill(process.pid, "SIGUSR1")
    const look = (times) => (url() || times === 0 ? console.log(url() ?? "none") : setTimeout(look, 10, times - 1))
    look(100)`,
  )
  const [program, ...args] = workerCommand({ execPath: process.execPath, nodeVersion, main, memoryMb: 0 })

  const { stdout } = await promisify(execFile)(program, args)

  assert.equal(stdout, "none\n")
})
