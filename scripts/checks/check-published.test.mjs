import assert from "node:assert/strict"
import test from "node:test"
import { checkPublished } from "./check-published.mjs"

const found = (text, published = {}) =>
  checkPublished([{ path: "docs/a.md", text }], published).map(({ line, message }) => `${line} ${message}`)

const fetching = {
  npmPackage: [
    "npx superstep dev",
    "npx --yes superstep@0.2.0 dev",
    "npx -y create-superstep my-agent",
    "npm create superstep my-agent",
    "npm create superstep@latest my-agent",
    "npm init superstep",
    "npm install -g superstep",
    "npm install superstep",
    "yarn add superstep@1",
  ],
  pythonPackage: [
    "pip install superstep",
    "pip install --upgrade superstep==0.2.0",
    "uvx superstep dev",
    "uv tool install superstep",
    "pipx run superstep",
  ],
  image: [
    "docker run -p 8900:8900 superstep:0.2.0",
    "docker run someone/superstep",
    "docker pull superstep",
    "FROM superstep:0.2.0",
    "    image: superstep/superstep:0.2.0",
  ],
  chart: ["helm install superstep oci://charts.other.org/superstep", "helm repo add superstep https://a.example.org"],
}

test("a command that fetches a package of ours is refused until the package is published", () => {
  for (const [field, commands] of Object.entries(fetching)) {
    for (const command of commands) {
      assert.match(found(`Run this:\n${command}\n`).join(), new RegExp(`^2 .*since ${field} is not`), command)
      assert.deepEqual(found(command, { [field]: "superstep" }), [], command)
      const inLines = command.trim().replaceAll(" ", " \\\n  ")
      assert.match(
        found(`Run this:\n${inLines}\nnpm start\n`).join(),
        new RegExp(`^2 .*since ${field} is not`),
        inLines,
      )
    }
  }
})
