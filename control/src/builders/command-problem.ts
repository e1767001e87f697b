/** Which install and build commands are run: asked when a request comes, and again before one runs. Pure. */

// One `&` would leave a process behind; three or more are not shell.
const forbidden = /["`\\\n\r\0\t|;$><]|(?<!&)&(?!&)|&{3}/

/**
 * Such a command runs in a shell, so what would chain, redirect or substitute is refused; `&&` is fine.
 * @returns the problem in words, to follow the name of the field
 * @see     control-plane §2.2, "Command filter": the official CLIs refuse the same before they send
 */
export const commandProblem = (command: string): string | undefined =>
  forbidden.test(command)
    ? 'may not contain " ` \\ | ; $ > < a single &, line breaks, tabs or NUL; && is fine'
    : undefined
