/**
 * fengari's modules need each other in circles, and `lua.js` is the door through which they load in an order
 * that works; it has to come after the settings, and before any inner module. Only a file that uses its import
 * holds this order in a bundle too.
 */
import './engine-settings.ts'
import lua from 'fengari/src/lua.js'

export { lua }
