/** docs/settings.md is generated from the definitions that the processes use, so it is always up to date. */
import { test } from "node:test"
import { settings as control } from "@superstep/control/config"
import { settings as edge } from "@superstep/edge/config"
import { settings as server } from "@superstep/server/config"
import { describeSettings, type Settings } from "@superstep/toolkit/config/settings"
import { settings as cli } from "superstep/command-line/config"
import { expectPage } from "./testing/printed-page.js"

const page = new URL("../../docs/settings.md", import.meta.url)

const section = (title: string, words: string, settings: Settings): string =>
  [
    `## ${title}`,
    words,
    ["| variable | default | what |", "|---|---|---|", ...describeSettings(settings)].join("\n"),
  ].join("\n\n")

const reference = `${[
  "# Settings",
  "Every process reads its settings once, from its environment, and reports all problems together. This page is generated " +
    "from the definitions in each `config.ts`: `UPDATE_DOCS=1 npm test -- settings-reference` updates it.",
  section("Control plane", "`superstep up` passes its environment on to the control plane.", control),
  section(
    "Agent server",
    "`superstep dev` and `superstep serve` set the first ones. Secrets of a deployment may set those that LangGraph " +
      "Platform has too, such as `N_JOBS_PER_WORKER`.",
    server,
  ),
  section(
    "Edge",
    "Set by the control plane for the edge that it starts. Where edges run in several copies, their starter sets them.",
    edge,
  ),
  section("Command line", "Read by every command of `superstep`. Options of a command take precedence.", cli),
].join("\n\n")}\n`

test("the settings reference says what the processes read", async () => {
  await expectPage(page, reference)
})
