import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { archiveSource } from "./archive.js"
import { testSource } from "./conformance.js"
import { gitSource } from "./git.js"
import { bareRepository } from "./testing/bare-repository.js"
import { tarGz, uploaded } from "./testing/tar-gz.js"

testSource("git", async () => {
  const repository = bareRepository(temporaryFolder())
  const environment = { PATH: process.env.PATH }
  const keysFolder = join(temporaryFolder(), "keys")
  return {
    source: gitSource({
      protocols: ["file"],
      environment,
      timeoutMs: 20_000,
      homeFolder: join(temporaryFolder(), "home"),
      keysFolder,
    }),
    store: async (files) => {
      repository.commit(files)
      return { repoUrl: repository.url, ref: "main" }
    },
  }
})

testSource("archive", async () => ({
  source: archiveSource(),
  store: async (files) => uploaded(tarGz(Object.entries(files).map(([path, content]) => ({ path, content })))),
}))
