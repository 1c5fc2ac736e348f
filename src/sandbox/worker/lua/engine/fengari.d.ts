declare module 'fengari/src/*' {
  const module: unknown
  export = module
}
