/** The settings of machines; the control plane's `config.ts` reads them. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"
import { kindNames, settingsOfKinds } from "./kinds.js"

export const machineSettings = {
  machine: {
    env: "SUPERSTEP_MACHINE",
    describe:
      "What agents run in: `process`, `docker` for containers of an engine on this computer, or `kubernetes` for pods of a cluster (docs/machines.md).",
    schema: z.enum(kindNames).default("process"),
  },
  ...settingsOfKinds,
} satisfies Settings
