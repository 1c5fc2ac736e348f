import { options } from 'preact'

/**
 * Characters that turn the direction of what follows them, to the end of the line: in a text of a plugin they would turn the
 * words of the page around it, so that it seems to ask for something else.
 */
const turns = /[\u202a-\u202e\u2066-\u2069]/g

/** Has them shown as a character that cannot be shown, in every text of the page. */
export function neutralizeBidiControls(): void {
  options.vnode = (node) => {
    // A text has no type, and its properties are the text.
    const { props }: { props: unknown } = node
    if (typeof props === 'string') Object.assign(node, { props: props.replace(turns, '\ufffd') })
  }
}
