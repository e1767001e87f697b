/** For tests: git as the platform uses it, with folders of its own. */
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type GitSettings, type GitSource, gitSource } from "../git.js"

/** @param change  other settings than the repositories of this computer, and a minute */
export const testGit = (change: Partial<GitSettings> = {}): GitSource =>
  gitSource({
    protocols: ["file"],
    environment: { PATH: process.env.PATH },
    timeoutMs: 60_000,
    homeFolder: join(temporaryFolder(), "home"),
    keysFolder: join(temporaryFolder(), "keys"),
    ...change,
  })
