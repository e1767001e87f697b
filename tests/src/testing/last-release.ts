/** The program of the last release, which `.ci/release` makes from the history: what users have before they upgrade to this one. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Release } from "./releases.js"

const folder = process.env.SUPERSTEP_TEST_RELEASE ?? ""

/** Why a test of upgrades cannot run here, or false. */
export const withoutLastRelease =
  folder === "" && "no program of the last release: .ci/run makes it, or SUPERSTEP_TEST_RELEASE=$(.ci/release)"

export const lastRelease: Pick<Release, "folder"> = { folder }

/** The programs of this clone. */
export const thisRelease: Pick<Release, "folder"> = { folder: fileURLToPath(new URL("../../..", import.meta.url)) }

/** @returns  the main file of a release's agent server */
export const serverOf = (release: Pick<Release, "folder">): string => join(release.folder, "server/programs/main.js")
