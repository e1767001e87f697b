/** Users and passwords of registries, where engines and clusters keep them: `config.json` with `auths` by host. */
import { readFile } from "node:fs/promises"
import { Secret } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { z } from "zod"
import type { Credentials } from "./credentials.js"

export class UnusableLogin extends KnownError {
  readonly code = "unusable_login"
}

const entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
})
const loginFile = z.object({ auths: z.record(z.string(), entry).default({}) })

// What Docker Hub's registry is called in such files.
const hubNames = ["https://index.docker.io/v1/", "index.docker.io", "docker.io"]

/**
 * @param path  of the file; one that does not exist has no credentials
 * @param host  of the registry, with its port
 * @returns     undefined when the file has none for it
 * @throws UnusableLogin  the file, or its entry, has another form
 */
export async function credentialsIn(path: string, host: string): Promise<Credentials | undefined> {
  const text = await readFile(path, "utf8").catch(ifCode(missing))
  if (text === undefined) return undefined
  let auths: z.infer<typeof loginFile>["auths"]
  try {
    auths = loginFile.parse(JSON.parse(text)).auths
  } catch (cause) {
    throw new UnusableLogin(`${path} is no file with auths of registries: sign in again, for example by docker login`, {
      cause,
    })
  }
  const names = [host, `https://${host}`, ...(host === "registry-1.docker.io" ? hubNames : [])]
  // An empty entry is that of a program which keeps passwords elsewhere; the registry may let anybody read.
  const found = names.flatMap((name) => auths[name] ?? []).find((it) => Object.keys(it).length > 0)
  if (!found) return undefined
  const [user, password] = found.auth === undefined ? [found.username, found.password] : pairOf(found.auth)
  if (!user || !password)
    throw new UnusableLogin(`${path} has no password for ${host}: programs that keep it elsewhere are not asked`)
  return { user, password: new Secret(password) }
}

/** Pure. */
function pairOf(auth: string): [string, string] {
  const text = Buffer.from(auth, "base64").toString()
  const at = text.indexOf(":")
  if (at < 1) return ["", ""]
  return [text.slice(0, at), text.slice(at + 1)]
}
