import assert from "node:assert/strict"
import { test } from "node:test"
import { listen } from "@superstep/toolkit/http/listen"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { writeCredentials } from "../home/credentials.js"
import { homeAt } from "../home/home.js"
import { runCli } from "../testing/run-cli.js"

/** A control plane that records requests, and a data folder whose keys are for it. */
async function platform() {
  const asked: { method: string; path: string; key: string | null; body: unknown }[] = []
  const hostName = { name: "agent.example.com", url: "https://agent.example.com", status: "active", failure: null }
  const answer = async (request: Request) => {
    const { method, headers } = request
    const path = new URL(request.url).pathname
    if (path === "/v2/deployments") return Response.json({ resources: [{ id: "d1", name: "chat" }] })
    const text = await request.text()
    asked.push({ method, path, key: headers.get("x-api-key"), body: text === "" ? undefined : JSON.parse(text) })
    if (method === "DELETE") return new Response(null, { status: 204 })
    return Response.json(method === "GET" ? { resources: [hostName] } : hostName)
  }
  const listening = await listen(answer, { host: "127.0.0.1", port: 0 })
  const home = temporaryFolder()
  const url = `http://127.0.0.1:${listening.port}`
  await writeCredentials(homeAt(home), { url, tenant_id: "w1", api_key: "of-w1", org_api_key: "of-all" })
  const run = (...args: string[]) => runCli(["hosts", ...args, "--home", home], { cwd: home })
  return { asked, run, [Symbol.asyncDispose]: () => listening.close(0) }
}

test("host names are added with the key of the installation, listed and removed", async () => {
  await using it = await platform()

  const added = await it.run("add", "chat", "Agent.example.com")
  const listed = await it.run("list", "chat")
  const removed = await it.run("remove", "chat", "agent.example.com", "--json")

  assert.equal(added.stdout, "agent.example.com is active: https://agent.example.com\n")
  assert.match(listed.stdout, /^agent\.example\.com +active +https:\/\/agent\.example\.com$/m)
  assert.deepEqual(JSON.parse(removed.stdout), { name: "agent.example.com", removed: true })
  const path = "/v2/deployments/d1/host-names"
  assert.deepEqual(it.asked, [
    { method: "POST", path, key: "of-all", body: { name: "Agent.example.com" } },
    { method: "GET", path, key: "of-w1", body: undefined },
    { method: "DELETE", path: `${path}/agent.example.com`, key: "of-w1", body: undefined },
  ])
})
