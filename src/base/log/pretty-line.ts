/** A line of the log as a person at a terminal reads it. */

/** Colours of a terminal, by level. */
const colours: Readonly<Record<string, number>> = { debug: 34, info: 32, warn: 33, error: 31 }
const cyan = 36

/**
 * What a terminal would not show but obey: control characters of ASCII and those above it, line separators, and what
 * turns the direction of a text around.
 */

const obeyed = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** The text with all that a terminal obeys written out: `\u001b`. */
export function visibleText(text: string): string {
  return text.replace(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * From the line as JSON: time and level, the message, and a line for each field. Texts come from plugins and
 * from anybody who calls: nothing of them begins a line or moves the cursor.
 */
export function prettyLine(json: string, colourful: boolean): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Record<string, unknown>
  const paint = (text: string, colour: number): string =>
    colourful ? `\u001b[${colour}m${text}\u001b[39m` : text
  const name = String(level)
  const head = `[${localTime(String(time))}] ${paint(visibleText(name.toUpperCase()), colours[name] ?? cyan)}`
  const lines = Object.entries(fields).map(
    ([key, value]) => `    ${visibleText(key)}: ${visibleText(JSON.stringify(value))}\n`,
  )
  return `${head}: ${paint(visibleText(String(msg)), cyan)}\n${lines.join('')}`
}

/** In the time zone of this machine, with milliseconds. With the day: a terminal is left open for weeks, and a file for years. */
function localTime(time: string): string {
  const date = new Date(time)
  const two = (number: number): string => String(number).padStart(2, '0')
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`
}
