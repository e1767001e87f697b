import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { fileURLToPath } from "node:url"

const repository = fileURLToPath(new URL("../../../", import.meta.url))
const readme = join(repository, "control/src/pipeline/README.md")
const ofStages = "$" + "{revision.stage}:after-advance"

/** The names of the points in the sources below a folder. */
const pointsIn = (folder: string): string[] =>
  readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => [
      ...readFileSync(join(repository, folder, file), "utf8").matchAll(/crashPoint(?:\?\.)?\(["`]([^"`]+)/g),
    ])
    .map(([, name = ""]) => name)

test("each point at which a test kills the control plane is in the table of points, and no other", () => {
  const rows = [...readFileSync(readme, "utf8").matchAll(/^\| \d+ \| `([a-z:-]+)` \|/gm)]

  const listed = new Set(rows.map(([, name = ""]) => (name.endsWith(":after-advance") ? ofStages : name)))
  assert.deepEqual([...listed].sort(), [...new Set(["control/src", "machines/src"].flatMap(pointsIn))].sort())
})
