import Koa from 'koa'

/** Koa by itself, in a process of its own: `{ body }` is what it answers from then on; says `{ port }` then. */
const app = new Koa()
let body = ''
app.use((context) => {
  context.type = 'json'
  context.body = body
})
process.on('message', (message: { body: string }) => {
  body = message.body
  const server = app.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
  })
})
process.on('disconnect', () => process.exit())
