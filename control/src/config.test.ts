import assert from "node:assert/strict"
import test from "node:test"
import { InvalidSettings } from "@superstep/toolkit/config/settings"
import { agentsUrlOf, gitProtocolsOf, isForThisMachine, readConfig } from "./config.js"

const least = { DATABASE_URI: "postgres://u:p@localhost/superstep" }

test("with only a database set, the platform listens on loopback and allows every protocol of git", () => {
  const config = readConfig(least)

  assert.deepEqual([config.host, config.port, config.agentsPort], ["127.0.0.1", 8900, 8901])
  assert.deepEqual(gitProtocolsOf(config), ["https", "ssh", "http", "file", "git"])
  assert.equal(agentsUrlOf(config), "http://127.0.0.1:8901")
  assert.equal(config.healthMs, 600_000)
  assert.equal(config.stopAllOnExit, false)
  assert.doesNotMatch(JSON.stringify(config), /u:p@/)
})

test("on a public address only https and ssh are allowed for git by default", () => {
  const open = { ...least, SUPERSTEP_HOST: "0.0.0.0" }

  assert.deepEqual(gitProtocolsOf(readConfig(open)), ["https", "ssh"])
  assert.deepEqual(gitProtocolsOf(readConfig({ ...open, SUPERSTEP_GIT_PROTOCOLS: "https, file" })), ["https", "file"])
})

test("with a public address a proxy is in front, so loopback is no single user's machine", () => {
  const behind = (url: string) => readConfig({ ...least, SUPERSTEP_PUBLIC_URL: url })

  assert.deepEqual(gitProtocolsOf(behind("https://superstep.example.org")), ["https", "ssh"])
  assert.equal(isForThisMachine(behind("https://superstep.example.org")), false)
  for (const url of ["https://localhost:8443", "http://127.0.0.1:8900", "http://[::1]"])
    assert.equal(isForThisMachine(behind(url)), true, url)
  assert.equal(isForThisMachine(readConfig({ ...least, SUPERSTEP_HOST: "0.0.0.0" })), false)
})

test("all problems are reported together", () => {
  const wrong = { SUPERSTEP_PORT: "99999", SUPERSTEP_GIT_PROTOCOLS: "ext", SUPERSTEP_TIMEOUT_BUILD: "soon" }

  assert.throws(
    () => readConfig(wrong),
    (error) => {
      assert.ok(error instanceof InvalidSettings)
      for (const name of [...Object.keys(wrong), "DATABASE_URI"]) assert.match(error.message, new RegExp(name))
      return true
    },
  )
})
