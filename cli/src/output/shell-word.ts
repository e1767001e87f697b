/** Words of commands that people paste into a shell. Pure. */

/** One word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The same, without quotes where a shell takes the text as it is. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text))
