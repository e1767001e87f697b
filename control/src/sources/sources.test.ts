import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { archiveSource } from "./archive.js"
import { testSource } from "./conformance.js"
import { bareRepository } from "./testing/bare-repository.js"
import { testGit } from "./testing/git-source.js"
import { tarGz, uploaded } from "./testing/tar-gz.js"

testSource("git", async () => {
  const repository = bareRepository(temporaryFolder())
  return {
    source: testGit(),
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
