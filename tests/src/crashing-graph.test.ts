/** A revision whose graphs load well and end their worker later, through the whole product. */
import assert from "node:assert/strict"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, type Revision, startRevision, untilDeployed } from "./testing/deployments.js"
import { agentLanguages, type LanguageName } from "./testing/languages.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

interface Health {
  readonly active_revision_id: string
  readonly health: string
}

/** A module that ends its process as soon as a file is there: so the build and the start, however slow, are over before. */
const endsOnceThereIs = (file: string, language: LanguageName): string =>
  language === "JavaScript"
    ? `import { existsSync } from "node:fs"
setInterval(() => existsSync(${JSON.stringify(file)}) && process.exit(3), 100).unref()
`
    : `import os, threading, time
def end():
    while not os.path.exists(${JSON.stringify(file)}):
        time.sleep(0.1)
    os._exit(3)
threading.Thread(target=end, daemon=True).start()
`

for (const { name: language, skip: withoutLanguage } of agentLanguages) {
  test(`a module in ${language} that exits by itself takes its revision back, or shows as crashing when it is the first`, {
    skip:
      unlessWide("takes half a minute") ||
      withoutLanguage ||
      (language === "Python" && unlessLong("the platform counts crashes the same for both languages")),
  }, async () => {
    const packages = language === "Python" ? "installed" : "linked"
    await using platform = await startPlatform()
    const repository = await createRepository(language)
    const deployment = await deploy(platform, "fragile", repository.url, [], packages)
    const good = deployment.latest_revision_id
    const read = async () => (await platform.api<Health>("GET", `/v2/deployments/${deployment.id}`)).body
    const signal = join(temporaryFolder(), "exit")
    const [[file, text] = ["", ""]] = Object.entries(versionFile("bad", language))
    await repository.push({ [file]: `${endsOnceThereIs(signal, language)}${text}` })

    const bad = await startRevision(platform, deployment.id)
    await untilDeployed(platform, deployment.id, bad)
    writeFileSync(signal, "")
    await until(async () => (await read()).active_revision_id === good, { what: "the revision before serves again" })

    const path = `/v2/deployments/${deployment.id}/revisions/${bad}`
    const revision = (await platform.api<Revision>("GET", path)).body
    assert.equal(revision.error_code, "crash_loop")
    assert.match(revision.status_message ?? "", /worker processes crashed \d+ times, the last one with exit code 3/)
    const client = clientOf(platform, deployment)
    const state = await client.runs.wait(null, "chat", { input: { messages: [{ role: "user", content: "hello" }] } })
    assert.ok(state)
    await until(async () => (await read()).health === "healthy", { what: "health is good again" })

    rmSync(signal)
    const first = await deploy(platform, "first", repository.url, [], packages)
    writeFileSync(signal, "")
    const shown = async () => (await platform.api<Health>("GET", `/v2/deployments/${first.id}`)).body.health
    await until(async () => (await shown()) === "crashing", { what: "its health says so" })
  })
}
