import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { problemBefore } from "./early-checks.mjs"

const folder = () => mkdtempSync(join(tmpdir(), "look-"))

async function takenPort(t) {
  const server = createServer().listen(0, "127.0.0.1")
  t.after(() => server.close())
  await once(server, "listening")
  return String(server.address().port)
}

test("a port that is in use is told before anything is installed, with the words that choose another", async (t) => {
  const port = await takenPort(t)
  const cwd = folder()

  const api = await problemBefore(["--port", port], { cwd })
  const agents = await problemBefore(["--port=0", `--agents-port=${port}`], { cwd })
  const free = await problemBefore(["-p", "0", "--agents-port", "0"], { cwd })
  writeFileSync(join(cwd, "running.json"), "{}")
  const running = await problemBefore(["--port", port, "--home", cwd], { cwd: folder() })

  assert.match(api ?? "", new RegExp(`^port ${port} is in use: choose another with npm start -- --port \\d+$`))
  assert.match(
    agents ?? "",
    new RegExp(`^port ${port} is in use: choose another with npm start -- --agents-port \\d+$`),
  )
  assert.equal(free, undefined)
  assert.equal(running, undefined, "the command knows who runs on the folder")
})

test("without git a first start is told so, and one without the example is not", async () => {
  const env = { PATH: folder() }
  const ports = ["--port", "0", "--agents-port", "0"]

  assert.match((await problemBefore(ports, { cwd: folder(), env })) ?? "", /git is not installed: .*--no-example/)
  assert.equal(await problemBefore([...ports, "--no-example"], { cwd: folder(), env }), undefined)
})

test("what is mistyped is left to the command", async () => {
  const cwd = folder()

  for (const args of [["--port", "many"], ["--prot", "1"], ["up"]]) {
    assert.equal(await problemBefore([...args, "--port", "0", "--agents-port", "0"], { cwd }), undefined)
  }
})
