/**
 * Credentials of registries, which the operator keeps in a folder: `default.json` for every deployment, and `<name>.json` for those that
 * name it in `resource_spec.image_pull_secrets`. Each file has the format of Docker's `config.json`. They are read anew each time.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import type { Credentials } from "@superstep/oci/registry/credentials"
import { credentialsIn, UnusableLogin } from "@superstep/oci/registry/login-file"
import { Secret } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { ImageRefused } from "../port/errors.js"

// What a file name may be, and a Kubernetes Secret's name is.
const nameForm = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

/**
 * @param folder  of the setting
 * @param host    of the registry, as `parseReference` names it
 * @returns       the engine's header; undefined when no file names the registry
 * @throws ImageRefused  a named file does not exist, or has another form
 */
export async function registryAuth(
  folder: string | undefined,
  host: string,
  pullSecrets: readonly string[],
): Promise<Secret | undefined> {
  for (const name of pullSecrets) {
    if (folder !== undefined && nameForm.test(name) && (await exists(fileIn(folder, name)))) continue
    throw new ImageRefused(
      "source_auth",
      `resource_spec.image_pull_secrets names ${name}, which this installation does not have: the operator adds ${name}.json to the folder of SUPERSTEP_IMAGE_CREDENTIALS`,
    )
  }
  if (folder === undefined) return undefined
  for (const name of [...pullSecrets, "default"]) {
    const found = await read(folder, name, host)
    if (found) return engineHeader(found, host)
  }
  return undefined
}

const fileIn = (folder: string, name: string): string => join(folder, `${name}.json`)

const exists = (path: string): Promise<boolean> => stat(path).then(() => true, ifCode(missing, false))

/** A workspace is not told where the operator's files are. */
async function read(folder: string, name: string, host: string): Promise<Credentials | undefined> {
  try {
    return await credentialsIn(fileIn(folder, name), host)
  } catch (cause) {
    if (!(cause instanceof UnusableLogin)) throw cause
    throw new ImageRefused("source_auth", `the operator's file ${name}.json has no usable credentials for ${host}`, {
      cause,
    })
  }
}

/** Pure. An engine ignores it without the padding, which Node's own base64url lacks. */
export function engineHeader({ user, password }: Credentials, host: string): Secret {
  const shown = { username: user, password: password.reveal(), serveraddress: host }
  const text = Buffer.from(JSON.stringify(shown)).toString("base64")
  return new Secret(text.replaceAll("+", "-").replaceAll("/", "_"))
}
