/** `node build-ui.js ORDER`: bundles a project's UI components and exits. ORDER is JSON, see server/src/ui. */
import { build } from "@langchain/langgraph-ui"

await build(JSON.parse(process.argv[2] ?? "{}"))
