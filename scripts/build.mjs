/** `npm run build`: installs what is missing, compiles what has changed, and bundles the programs and the console. */
import { explain, setUp } from "./setup.mjs"

await setUp().catch(explain)
