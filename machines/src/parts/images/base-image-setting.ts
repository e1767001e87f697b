/** The setting of kinds whose units run on top of an image. */
import type { Settings } from "@superstep/toolkit/config/settings"
import { z } from "zod"

export const baseImageSetting = {
  baseImage: {
    env: "SUPERSTEP_BASE_IMAGE",
    describe:
      "Image that agents run on top of, with `docker` or `kubernetes`; it needs Node, and with `docker` glibc at least as new as this computer's. By default `node:<major version>-bookworm-slim`.",
    schema: z.string().optional(),
  },
} satisfies Settings
