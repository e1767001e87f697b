import assert from "node:assert/strict"
import test from "node:test"
import { buildEnvironment } from "./environment.js"

test("a build gets the settings for a closed network, and nothing else of our environment", () => {
  const base = {
    PATH: "/usr/bin",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    https_proxy: "http://proxy:1",
    npm_config_registry: "https://packages.example.org",
    "NPM_CONFIG_//packages.example.org/:_authToken": "token",
    "npm_config_@acme:registry": "https://acme.example.org",
    npm_config_cache: "/operator/.npm",
    npm_config_prefix: "/home/operator",
    NODE_ENV: "production",
    DATABASE_URI: "postgres://platform",
    SUPERSTEP_MASTER_KEY: "key",
  }

  const env = buildEnvironment({ base, execPath: "/opt/node/bin/node", home: "/b/home", cache: "/b/cache" })

  const { npm_config_prefix, NODE_ENV, DATABASE_URI, SUPERSTEP_MASTER_KEY, ...passing } = base
  assert.deepEqual(new Set(Object.keys(env).filter((name) => name in base)), new Set(Object.keys(passing)))
  assert.equal(env.PATH, "/opt/node/bin:/usr/bin")
  assert.equal(env.npm_config_cache, "/b/cache/npm")
  assert.equal(env.HOME, "/b/home")
})
