import type { LuaValue } from '../../lua/lua-value.ts'
import { isTable, numberArgument } from '../../lua/arguments.ts'

/** Numbers that take more than a register, or have a sign (plugin API, section 11). The high word comes first. */
export const modbusNumbers: Readonly<Record<string, (...args: LuaValue[]) => number | undefined>> = {
  toFloat32: (high, low) => viewOf('toFloat32', high, low).getFloat32(0),
  toInt32: (high, low) => viewOf('toInt32', high, low).getInt32(0),
  toUint32: (high, low) => viewOf('toUint32', high, low).getUint32(0),
  toInt16: (register) => viewOf('toInt16', register, 0).getInt16(0),
  /** Nil where there are no two registers. */
  floatAt(registers, index) {
    const place = numberArgument('floatAt', 2, index)
    const [high, low] = isTable(registers) ? [registers.get(place), registers.get(place + 1)] : []
    return high === undefined || low === undefined ? undefined : viewOf('floatAt', high, low).getFloat32(0)
  },
}

function viewOf(method: string, high: LuaValue, low: LuaValue): DataView {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint16(0, numberArgument(method, 1, high))
  view.setUint16(2, numberArgument(method, 2, low))
  return view
}
