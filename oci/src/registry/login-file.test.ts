import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { credentialsIn, UnusableLogin } from "./login-file.js"

const fileWith = (content: unknown): string => {
  const path = join(temporaryFolder(), "config.json")
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const shown = async (path: string, host: string) => {
  const found = await credentialsIn(path, host)
  return found && [found.user, found.password.reveal()]
}

test("credentials of a registry are found by its host, in each of their forms", async () => {
  const path = fileWith({
    auths: {
      "images.example.com:5000": { auth: Buffer.from("robot:with:colon").toString("base64") },
      "https://other.example.com": { username: "me", password: "mine" },
      "https://index.docker.io/v1/": { auth: Buffer.from("hub:key").toString("base64") },
    },
  })

  assert.deepEqual(await shown(path, "images.example.com:5000"), ["robot", "with:colon"])
  assert.deepEqual(await shown(path, "other.example.com"), ["me", "mine"])
  assert.deepEqual(await shown(path, "registry-1.docker.io"), ["hub", "key"])
  assert.equal(await shown(path, "images.example.com"), undefined)
  assert.equal(await shown(join(temporaryFolder(), "missing.json"), "images.example.com"), undefined)
})

test("an entry whose password is kept elsewhere counts as none, since many images may be read without", async () => {
  const path = fileWith({ auths: { "https://index.docker.io/v1/": {} }, credsStore: "desktop" })
  assert.equal(await shown(path, "registry-1.docker.io"), undefined)
})

test("a file of another form, and an entry without a user, are errors that say so", async () => {
  const auth = Buffer.from("just-a-token").toString("base64")
  await assert.rejects(credentialsIn(fileWith("no JSON"), "a.example.com"), UnusableLogin)
  const entry = fileWith({ auths: { "a.example.com": { auth } } })
  await assert.rejects(credentialsIn(entry, "a.example.com"), /no password for a\.example\.com/)
})
