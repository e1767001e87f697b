/** Front ends of other projects: `tests/front-ends` has their versions, `.ci/run` installs them. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../../front-ends/", import.meta.url))

export const chromium = process.env.SUPERSTEP_TEST_CHROMIUM ?? ""

export const chromiumFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

/** Why a test with front ends cannot run; false when it can. */
export const noFrontEnds = existsSync(`${folder}node_modules`)
  ? false
  : "no front ends: .ci/run installs tests/front-ends"

export const noBrowserFrontEnds =
  chromium === "" ? "no Chromium: .ci/run installs it and sets SUPERSTEP_TEST_CHROMIUM" : noFrontEnds

/** A script of `tests/front-ends`. */
export const frontEnd = (name: string): string => `${folder}${name}`
