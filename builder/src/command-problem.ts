/**
 * Decides which install and build commands are allowed: checked when a request arrives, and again before the command
 * runs. Pure.
 */

// One `&` would leave a process in the background; three or more are not valid shell.
const forbidden = /["`\\\n\r\0\t|;$><]|(?<!&)&(?!&)|&{3}/

/**
 * Such a command runs in a shell, so characters that chain, redirect or substitute are refused; `&&` is allowed.
 * @returns  the problem as text that follows the name of the field
 * @see      control-plane §2.2, "Command filter": the official CLIs refuse the same before they send
 */
export const commandProblem = (command: string): string | undefined =>
  forbidden.test(command)
    ? 'may not contain " ` \\ | ; $ > < a single &, line breaks, tabs or NUL; && is allowed'
    : undefined
