import assert from "node:assert/strict"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { bareRepository } from "../sources/testing/bare-repository.js"
import { deploymentOf, smallProject, testPlatform } from "./testing/platform.js"

test("a repository becomes an agent that answers at its public address", async () => {
  await using platform = await testPlatform()
  const repository = bareRepository(temporaryFolder())
  const sha = repository.commit(smallProject)
  await platform.start()

  const { deploymentId, revisionId } = await platform.deploy(deploymentOf(repository.url))
  const revision = await platform.untilEnded(deploymentId, revisionId)

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  assert.equal(revision.commit.sha, sha)
  const reply = await fetch(`${platform.agentsUrl}/d/chat/ok`)
  assert.equal(reply.headers.get("x-revision-id"), revisionId)
})
