/** docs/settings.md is printed from the definitions that the processes read: it cannot go stale. */
import assert from "node:assert/strict"
import { readFile, writeFile } from "node:fs/promises"
import { test } from "node:test"
import { settings as control } from "@superstep/control/config"
import { settings as edge } from "@superstep/control/edge/config"
import { settings as server } from "@superstep/server/config"
import { describeSettings, type Settings } from "@superstep/toolkit/config/settings"
import { settings as cli } from "superstep/config"

const page = new URL("../../docs/settings.md", import.meta.url)

const section = (title: string, words: string, settings: Settings): string =>
  [
    `## ${title}`,
    words,
    ["| variable | default | what |", "|---|---|---|", ...describeSettings(settings)].join("\n"),
  ].join("\n\n")

const reference = `${[
  "# Settings",
  "Every process reads its settings once, from its environment, and reports all problems together. This page is printed " +
    "from the definitions in each `config.ts`: `UPDATE_DOCS=1 npm test -- settings-reference` writes it anew.",
  section("Control plane", "What `superstep up` passes on to the control plane.", control),
  section(
    "Agent server",
    "`superstep dev` and `superstep serve` set the first ones; a deployment's secrets may set those that LangGraph " +
      "Platform knows too, such as `N_JOBS_PER_WORKER`.",
    server,
  ),
  section("Edge", "Set by the control plane for the edge that it starts.", edge),
  section("Command line", "Read by every command of `superstep`; options go before them.", cli),
].join("\n\n")}\n`

test("the settings reference says what the processes read", async () => {
  if (process.env.UPDATE_DOCS === "1") await writeFile(page, reference)

  assert.equal(await readFile(page, "utf8"), reference)
})
