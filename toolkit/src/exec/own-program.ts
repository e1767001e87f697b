/** How our own programs are started with Node. */

// Node opens its inspector when any process of its user sends SIGUSR1, and whoever reaches the inspector executes code in the program:
// code of a deployment in its own agent server, and every user of the machine. Node 20 has no option against that, it resets an ignored
// signal and unblocks a blocked one, and a handler in the program would be installed too late. No machine has an address of this network
// (RFC 1112, section 4), so the inspector cannot listen: Node prints that, and goes on.
const noInspector = "--inspect-port=240.0.0.1:65535"

/** The options of Node for a program of ours that runs beside code of a deployment. Stacks name lines of the sources. */
export const ownNodeOptions: readonly string[] = ["--enable-source-maps", noInspector]

/**
 * For a program that people start without these options, such as the command line: from here on SIGUSR1 opens no inspector. Agents that
 * ran before may send it in the moments before that.
 */
export const ignoreInspectorSignal = (): void => void process.on("SIGUSR1", () => undefined)
