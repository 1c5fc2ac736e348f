import { randomBytes } from 'node:crypto'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { HookDeclaration } from '../../schema/outside/hook.ts'
import type { HookAddress } from '../../schema/worker/question.ts'

/** The addresses of handlers: `<base>/hooks/<namespace>/<shortId>[/<secret>]/<path>`. */

/** Bytes of a secret: more than anybody can try. */
const secretBytes = 18

export function createHookSecret(): string {
  return randomBytes(secretBytes).toString('base64url')
}

/** `base`: without a slash at its end. */
export function hookAddress(
  base: string,
  plugin: string,
  { path, auth }: Pick<HookDeclaration, 'path' | 'auth'>,
  secret: string,
): HookAddress {
  const { namespace, shortId } = identifierOf(plugin)
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  const place = `${base}/hooks/${namespace}/${shortId}`
  return auth === 'secret' ? { url: `${place}/${secret}/${encoded}`, secret } : { url: `${place}/${encoded}` }
}
