import { LoginBody, SessionAnswer } from '../../schema/api/api.ts'
import type { Access } from '../access/access.ts'
import { defineRoute, type Route } from '../route.ts'

/** Logins of the user interface. */
export function sessionRoutes(access: Access): Route[] {
  const path = '/api/session'
  return [
    defineRoute({
      method: 'GET',
      path,
      summary: 'Whether a token is needed here, and whether this caller has given it',
      open: true,
      early: true,
      answers: { 200: SessionAnswer },
      problems: ['too_many_requests'],
      handle: ({ context }) => ({
        body: { required: access.isLocked, authenticated: access.isKnown(context.req) },
      }),
    }),
    defineRoute({
      method: 'POST',
      path,
      summary: 'Takes the token and sets a cookie that stands for it',
      open: true,
      early: true,
      body: LoginBody,
      answers: { 201: SessionAnswer },
      problems: ['unauthorized', 'too_many_requests'],
      handle({ context, body }) {
        const cookie = access.logIn(context.req, body.token)
        return {
          status: 201,
          body: { required: access.isLocked, authenticated: true },
          ...(cookie === undefined ? {} : { headers: { 'Set-Cookie': cookie } }),
        }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path,
      summary: 'Ends the login of this cookie',
      early: true,
      answers: { 200: SessionAnswer },
      handle: ({ context }) => ({
        body: { required: access.isLocked, authenticated: false },
        headers: { 'Set-Cookie': access.logOut(context.req) },
      }),
    }),
  ]
}
