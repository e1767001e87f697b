/** The settings of machines; the control plane's `config.ts` reads them. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"
import { kindNames, kinds, settingsOfKinds } from "./kinds.js"

const choices = kindNames.map((name) => `\`${name}\`: ${kinds[name].units}`).join("; ")

export const machineSettings = {
  machine: {
    env: "SUPERSTEP_MACHINE",
    describe: `What agents run in. ${choices} (docs/machines.md).`,
    schema: z.enum(kindNames).default("process"),
  },
  ...settingsOfKinds,
} satisfies Settings
