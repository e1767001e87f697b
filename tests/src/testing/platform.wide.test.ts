import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { onlyWithProcesses } from "./machines/machine-of-run.js"
import { processesOf } from "./platform.js"

test("a process that exits early stops its platform", {
  skip: skip || onlyWithProcesses("the platform of another process"),
}, async () => {
  const home = temporaryFolder()
  const program = `
    const { startLocalPlatform } = await import(${JSON.stringify(new URL("platform.js", import.meta.url).href)})
    await startLocalPlatform({ home: ${JSON.stringify(home)} })
    process.exit(3)`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" })

  assert.deepEqual(await once(child, "exit"), [3, null])
  assert.deepEqual(await processesOf(home), [])
})
