import assert from "node:assert/strict"
import { test } from "node:test"
import { isEnvFile, isSecretFile } from "./secret-files.js"

test("files that hold credentials are known by their names, and examples and code are not among them", () => {
  const secret = [
    ...[".env", "agent/.env.local", "prod.env", ".ENV", ".envrc", ".npmrc", ".htpasswd", ".dockercfg", "kubeconfig"],
    ...["prod.kubeconfig", ".kube/config", "home/.docker/config.json", "infra/prod.tfvars", "a.auto.tfvars.json"],
    ...["terraform.tfstate", "tls/server.key", "id_ed25519", "credentials", ".aws/credentials", "secrets.yaml"],
  ]
  const shown = [
    ...[".env.example", "prod.env.sample", "terraform.tfvars.example", "env.ts", "config.env.ts", "vite-env.d.ts"],
    ...["docker/config.json", "config.json", "kubeconfig.ts", "keys.ts", "credentials.ts", "secrets.ts"],
  ]

  assert.deepEqual(
    secret.filter((path) => !isSecretFile(path)),
    [],
  )
  assert.deepEqual(shown.filter(isSecretFile), [])
})

test("archives keep what a build may need: only files of `.env` count for them", () => {
  const paths = [".env", "a/.env.local", ".env.example", "ca.pem", ".npmrc", ".envrc"]

  assert.deepEqual(paths.filter(isEnvFile), [".env", "a/.env.local"])
})
