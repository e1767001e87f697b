import assert from "node:assert/strict"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { readConfig } from "../command-line/config.js"
import { connect, NoConnection } from "../platform/connection.js"
import { writeCredentials } from "./credentials.js"
import { homeAt } from "./home.js"
import { locateInstallation, NoInstallation } from "./installation.js"
import { takeOwnership } from "./owner.js"
import { registerInstallation, runningInstallations } from "./running-installations.js"

/** A data folder on which this process runs `superstep up`. */
async function installation(port: number, environment: Record<string, string>) {
  const home = homeAt(join(temporaryFolder(), ".superstep"))
  mkdirSync(home.folder)
  const place = { host: "127.0.0.1", port, agentsPort: port + 1, database: "embedded" } as const
  const ownership = await takeOwnership(home, "superstep up", { place })
  const url = `http://127.0.0.1:${port}`
  await writeCredentials(home, { url, tenant_id: `workspace ${port}`, api_key: `key ${port}`, org_api_key: "org" })
  await registerInstallation(home, environment)
  return { home, url, [Symbol.asyncDispose]: () => ownership[Symbol.asyncDispose]() }
}

test("a command in any folder finds the installation that runs on this machine, while there is only one", async () => {
  const environment = { XDG_STATE_HOME: temporaryFolder() }
  const config = readConfig({ ...environment, HOME: temporaryFolder() })
  // Where a command runs there is no data folder.
  const elsewhere = { ...config, home: join(temporaryFolder(), ".superstep") }
  const named = { ...elsewhere, environment: { ...config.environment, SUPERSTEP_HOME: elsewhere.home } }

  await assert.rejects(connect({}, elsewhere), NoConnection)
  await assert.rejects(locateInstallation(undefined, elsewhere), NoInstallation)
  await using first = await installation(23_870, environment)
  const found = await connect({}, elsewhere)
  assert.equal((await locateInstallation(undefined, elsewhere)).folder, first.home.folder)
  await assert.rejects(locateInstallation(undefined, named), NoInstallation)
  await assert.rejects(connect({}, named), /choose with --home .* or with SUPERSTEP_HOME/)
  {
    await using second = await installation(23_880, environment)
    await assert.rejects(connect({}, elsewhere), (error: Error) =>
      [first, second].every(({ home, url }) => error.message.includes(`--home ${home.folder} (${url})`)),
    )
    await assert.rejects(locateInstallation(undefined, elsewhere), (error: Error) =>
      [first, second].every(({ home }) => error.message.includes(`--home '${home.folder}'`)),
    )
  }

  assert.deepEqual(found, {
    url: first.url,
    apiKey: "key 23870",
    workspaceId: "workspace 23870",
    foundIn: first.home.folder,
  })
  assert.deepEqual(await connect({}, elsewhere), found, "the second one does not run any more")
})

test("an installation whose folder is gone is forgotten", async () => {
  const environment = { XDG_STATE_HOME: temporaryFolder() }
  await using first = await installation(23_870, environment)
  rmSync(first.home.folder, { recursive: true })
  await using second = await installation(23_880, environment)

  assert.deepEqual(fieldsOf(await runningInstallations(environment), "folder"), [second.home.folder])
})
