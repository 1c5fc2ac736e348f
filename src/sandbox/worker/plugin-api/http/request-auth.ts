import type { HttpRequest } from '../../../../schema/outside/outside.ts'
import { fits, textLimits } from '../../../../schema/parsing/text-limits.ts'
import type { LuaTable, LuaValue } from '../../lua/lua-value.ts'
import { isTable, optionalText, typeName } from '../../lua/arguments.ts'
import { toBytes, toLatin1 } from '../../lua/text/bytes.ts'

/** What the option `auth` comes to: a header at once, or credentials for when the server asks. */
export interface RequestAuth {
  header?: [name: string, value: string]
  digest?: NonNullable<HttpRequest['digest']>
}

/** Reads `{ type = "basic" | "bearer" | "digest", user, password, token }`. Throws `Error`. */
export function readRequestAuth(value: LuaValue): RequestAuth {
  if (value === undefined) return {}
  if (!isTable(value)) throw new Error(`auth must be a table, not a ${typeName(value)}`)
  const type = optionalText(value.get('type'))
  switch (type) {
    case 'basic': {
      const login = Buffer.from(`${member(value, 'user')}:${password(value)}`)
      return { header: ['Authorization', `Basic ${login.toString('base64')}`] }
    }
    case 'bearer':
      return { header: ['Authorization', toLatin1(toBytes(`Bearer ${member(value, 'token')}`))] }
    case 'digest':
      return { digest: { user: member(value, 'user'), password: password(value) } }
    default:
      throw new Error(
        `auth.type is "basic", "bearer" or "digest", not ${type ?? typeName(value.get('type'))}`,
      )
  }
}

function member(table: LuaTable, name: string): string {
  const text = optionalText(table.get(name))
  if (text === undefined) throw new Error(`auth needs ${name}`)
  if (!fits(text, textLimits.headerBlock)) throw new Error(`auth.${name} is too long`)
  return text
}

/** Some devices have none. */
function password(table: LuaTable): string {
  return table.get('password') === undefined ? '' : member(table, 'password')
}
