import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import test from "node:test"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { pathTo } from "./paths.js"
import type { Row } from "./report.js"

test("every scenario finds right answers and all its figures on the floor", async () => {
  const jsonFile = join(temporaryFolder(), "figures.json")

  const { stdout } = await promisify(execFile)(process.execPath, [
    pathTo("dist/main.js"),
    ...["--quick", "--floor", "--json", jsonFile],
  ])

  const { rows, failures } = JSON.parse(await readFile(jsonFile, "utf8")) as { rows: Row[]; failures: string[] }
  assert.deepEqual(failures, [])
  assert.deepEqual(
    rows.filter(({ values }) => values.floor === undefined),
    [],
  )
  assert.match(stdout, /^two burning graphs$/m)
})
