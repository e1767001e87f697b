import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { readConfig } from "../command-line/config.js"
import { withControlDatabase } from "./control-database.js"
import { openHome } from "./home.js"
import { isOwned } from "./owner.js"

test("nobody else can start on the folder while a command works with its database", async () => {
  await using database = await freshDatabase()
  const home = await openHome(join(temporaryFolder(), "home"))
  const config = readConfig({ DATABASE_URI: database.uri })

  const seen = await withControlDatabase({ home, config, command: "superstep keys" }, async () => isOwned(home))

  assert.deepEqual([seen, await isOwned(home)], [true, false])
})
